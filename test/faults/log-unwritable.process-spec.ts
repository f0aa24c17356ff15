import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { send } from '../support/clients/http.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase } from '../support/servers/store.js';
import { spawnBound } from '../support/spawn-bound.mjs';

/** Writes a line whenever it receives one. */
const ECHOING = `
import { createInterface } from 'node:readline';
import { openOutput } from './dist/monitoring/log.js';

const output = openOutput();
for await (const line of createInterface({ input: process.stdin })) {
  output.write(line + '\\n');
  output.flush();
  console.error('flushed');
}
`;

describe('a log that cannot be written', () => {
  const directory = mkdtempSync(join(tmpdir(), 'unwritable-'));
  const pipe = join(directory, 'pipe');
  const opened: number[] = [];

  beforeAll(() => {
    execFileSync('mkfifo', [pipe]);
  });

  afterEach(() => {
    for (const descriptor of opened.splice(0)) closeSync(descriptor);
  });

  afterAll(() => rmSync(directory, { recursive: true }));

  function open(path: string, flags: number): number {
    const descriptor = openSync(path, flags);
    opened.push(descriptor);
    return descriptor;
  }

  /** A pipe whose reader never reads, or has ended. */
  function openPipe(hasReader: boolean): number {
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = open(pipe, constants.O_WRONLY);
    if (hasReader) opened.push(reader);
    else closeSync(reader);
    return writer;
  }

  const OUTPUTS = [
    ['on a full disk', () => open('/dev/full', constants.O_WRONLY), 1],
    ['to a pipe without a reader', () => openPipe(false), 1],
    ['to a pipe that is full', () => openPipe(true), 0],
  ] as const;

  function run(script: string, output: number): ChildProcess {
    return spawnBound(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['pipe', output, 'pipe'],
    });
  }

  it('is written again, with the lines of the meantime', async () => {
    const child = run(ECHOING, openPipe(false));
    child.stdin?.write('meanwhile\n');
    await once(child.stderr ?? child, 'data');
    const reader = open(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    child.stdin?.end('later\n');
    await once(child, 'exit');
    const received = Buffer.alloc(100);
    const length = readSync(reader, received);
    expect([child.exitCode, received.toString('utf8', 0, length)]).toEqual([0, 'meanwhile\nlater\n']);
  });

  it.each(OUTPUTS)('%s, stops neither requests nor a shutdown', async (_, output) => {
    const database = await createDatabase();
    const ldif = join(directory, 'directory.ldif');
    writeFileSync(ldif, buildLdif([{ id: 'anna' }]));
    const config = { host: '127.0.0.1', port: await findFreePort() };
    const child = spawnBound(process.execPath, ['dist/bundled/main.js'], {
      env: {
        PATH: process.env.PATH,
        PORT: String(config.port),
        DATABASE_URL: database.url,
        DIRECTORY_URL: `file:${ldif}`,
        WORKERS: '1',
        LOG_LEVEL: 'verbose',
      },
      stdio: ['ignore', output(), 'inherit'],
    });
    const readiness = () =>
      send({ config }, { path: '/_readiness' }).then(
        ({ status }) => status,
        () => null,
      );
    await eventually(readiness, 200);
    for (let time = 0; time < 1000; time++) await send({ config }, { path: '/none' });
    expect(await readiness()).toBe(200);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    await database.drop();
  });
});
