import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { eventually } from '../support/eventually.js';

/** What a run of tests does: creates its directory, starts a server, and starts a process in the directory through a shell. */
const RUN = `
const { spawn } = require('node:child_process');
(async () => {
  const { default: makeWorkDirectory } = await import('./test/support/work-directory.mjs');
  const { spawnBound } = await import('./test/support/spawn-bound.mjs');
  makeWorkDirectory();
  const cwd = process.env.TEST_WORK_DIRECTORY;
  const bound = spawnBound('sleep', ['900'], { stdio: 'ignore' });
  const shell = spawn('bash', ['-s'], { cwd, detached: true });
  shell.stdin.write('sleep 900 & echo $!\\n');
  shell.stdout.once('data', (id) => console.log(JSON.stringify({ cwd, ids: [bound.pid, shell.pid, Number(id)] })));
})();
`;

/** A zombie still exists until its parent has waited for it. */
function isRunning(id: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${id}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('a run of tests', () => {
  it.each(['SIGKILL', 'SIGINT', 'SIGTERM'] as const)(
    'leaves no process and no file when it ends by %s',
    async (signal) => {
      const run = spawn(process.execPath, ['-e', RUN], {
        env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(createInterface(run.stdout), 'line')) as [string];
      const { cwd, ids } = JSON.parse(line) as { cwd: string; ids: number[] };
      expect([existsSync(cwd), ids.map(isRunning)]).toEqual([true, [true, true, true]]);
      run.kill(signal);
      await eventually(
        () => Promise.resolve([existsSync(cwd), ids.map(isRunning)]),
        [false, [false, false, false]],
      );
    },
  );
});
