import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../src/config/config.js';
import { TestProcess } from '../support/clients/command.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { variable } from '../support/servers/store.js';

const execute = promisify(execFile);

describe('the service, started on the sample', () => {
  let directory: string;
  let environment: Environment;
  let url: string;
  const running: TestProcess[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'start-'));
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    environment = { PORT: String(port), DATABASE_URL: `embedded:${directory}` };
  });

  afterAll(async () => {
    for (const process of running) if (!process.hasEnded) await process.kill('SIGKILL');
  });

  function start(more: Environment = {}): TestProcess {
    const process = TestProcess.start('main', [], { ...environment, ...more });
    running.push(process);
    return process;
  }

  function tokenIn({ stdout }: TestProcess): string {
    return /Service account «demo», token (\S+)/.exec(stdout)?.[1] ?? 'no token';
  }

  /** The first command after a line is run in a shell, like by a reader of the log. */
  async function runCurlIn({ stdout }: TestProcess): Promise<unknown> {
    const command = /^[^]*?'\n/.exec(stdout.split('or:\n')[1] ?? '')?.[0] ?? 'false';
    return JSON.parse((await execute('bash', ['-c', command], { timeout: 600_000 })).stdout) as unknown;
  }

  it('logs its URLs and a command with a correct result, and the next start finds its data', async () => {
    const first = start();
    await first.untilPrinted(/Try [^]*'\n/);
    expect(first.stdout).toMatch(/Revision \d+ in \d+ ms: users \+2000/);
    for (const line of [
      `Ready at ${url}`,
      /Directory {2}\S+sample\/directory.ldif/,
      `Database   PostgreSQL in ${directory}`,
    ]) {
      expect(first.stdout).toMatch(line);
    }
    const asked = await fetch(`${url}/graphql/v1?query={buildInfo{version%20commit}}`);
    expect(await asked.json()).toEqual({
      data: { buildInfo: JSON.parse(readFileSync('dist/build.json', 'utf8')) as unknown },
    });
    const answer = await runCurlIn(first);
    expect(answer).toMatchObject({
      data: { groups: { nodes: Array.from({ length: 3 }, () => ({ name: expect.any(String) as string })) } },
    });
    expect((await first.kill('SIGTERM')).code).toBe(0);

    const second = start();
    await second.untilPrinted(/Try [^]*'\n/);
    expect(tokenIn(second)).toBe(tokenIn(first));
    expect(second.stdout).not.toContain('Revision');
    expect(await runCurlIn(second)).toEqual(answer);
    // No resource was released, and the next process starts nevertheless.
    expect((await second.kill('SIGKILL')).code).toBeNull();

    const third = start();
    await third.untilPrinted(/Ready at/);
    expect(tokenIn(third)).toBe(tokenIn(first));
    const beside = await start().end();
    expect([beside.code, withoutFirstLines(beside.stdout)]).toEqual([1, '']);
    expect(beside.stderr).toMatch(/^error: The port \d+ is in use\n {7}→ [^\n]+\n$/);
    expect((await third.kill('SIGTERM')).code).toBe(0);
    expect(existsSync(join(directory, 'postgres', 'postmaster.pid'))).toBe(false);
  });
});

/** On a busy machine, opening a database can take long enough to be logged. */
function withoutFirstLines(log: string): string {
  const beginning = /^\S+ INFO {2}\[Service\] Version .*\n(?: {2}[A-Z_]+=.*\n)*/;
  return log.replace(beginning, '').replace(/^.* The database is being opened.*\n/m, '');
}
