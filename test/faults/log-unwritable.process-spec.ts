import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { send } from '../support/clients/http.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase } from '../support/servers/store.js';
import { spawnBound } from '../support/spawn-bound.mjs';

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
    ['on a full disk', () => open('/dev/full', constants.O_WRONLY), false],
    ['to a pipe without a reader', () => openPipe(false), false],
    ['to a pipe that is full', () => openPipe(true), true],
  ] as const;

  it.each(OUTPUTS)(
    '%s, stops no request, and no shutdown unless its reader is stuck',
    async (_, output, isStuck) => {
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
      child.kill(isStuck ? 'SIGKILL' : 'SIGTERM');
      await once(child, 'exit');
      if (!isStuck) expect([child.exitCode, child.signalCode]).toEqual([0, null]);
      await database.drop();
    },
  );
});
