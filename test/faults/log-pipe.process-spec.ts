import { once } from 'node:events';
import { spawnBound } from '../support/spawn-bound.mjs';

const PROCESSES = 4;
const LINES = 4000;

/** Writes lines of different lengths, some of which are longer than what a pipe takes at once in any state. */
const WRITER = `
const { openOutput } = await import('./dist/monitoring/log.js');
const output = openOutput();
for (let line = 0; line < ${LINES}; line++) {
  output.write(JSON.stringify({ writer: process.argv[1], line, text: 'ü'.repeat(line % 500) }) + '\\n');
  if (line % 100 === 0) await new Promise(setImmediate);
}
`;

describe('the logs of several processes on one pipe', () => {
  it('have whole lines, also while the pipe is full', async () => {
    // The shell gives all of them its own output.
    const one = `"${process.execPath}" --input-type=module --eval "$WRITER"`;
    const script = `${Array.from({ length: PROCESSES }, (_, writer) => `${one} ${writer} &`).join('\n')}\nwait`;
    const child = spawnBound('sh', ['-c', script], {
      env: { ...process.env, WRITER },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      // A slow reader, which lets the pipe fill.
      child.stdout.pause();
      setTimeout(() => child.stdout.resume(), 1);
    });
    await once(child, 'close');
    const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
    const read = lines.map((line) => JSON.parse(line) as { writer: string; line: number });
    for (let writer = 0; writer < PROCESSES; writer++) {
      const own = read.filter((each) => each.writer === String(writer)).map(({ line }) => line);
      expect(own).toEqual(Array.from({ length: LINES }, (_, line) => line));
    }
  });
});
