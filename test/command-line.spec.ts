import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../src/config/config.js';
import { runCommand, TestProcess } from './support/command.js';

let work: string;
let environment: Environment;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'command-line-'));
  environment = { DATABASE_URL: `pglite:${join(work, 'mirror')}` };
});

afterAll(() => {
  rmSync(work, { recursive: true });
});

function run(...args: string[]): Promise<TestProcess> {
  return runCommand(args, environment);
}

function json({ stdout }: TestProcess): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('directory schema', () => {
  it('prints the schema that is committed, and finds it true', async () => {
    const printed = await run('schema');
    expect(printed.code).toBe(0);
    expect(printed.stdout).toBe(readFileSync('schema.graphql', 'utf8'));
    expect((await run('schema', '--check')).code).toBe(0);
  });
});

describe('directory check', () => {
  it('tells every problem of the settings at once', async () => {
    const checked = await runCommand(['check', '--json'], { ...environment, PORT: 'x', LOG_LEVEL: 'loud' });
    expect(checked.code).toBe(2);
    expect(json(checked).findings).toEqual([
      { what: 'settings', result: 'problem', text: expect.stringMatching(/^PORT /) as string },
      { what: 'settings', result: 'problem', text: expect.stringMatching(/^LOG_LEVEL /) as string },
    ]);
  });

  it('tells every problem of what the settings name at once', async () => {
    writeFileSync(join(work, 'clients.json'), '[{"client_id": 1}, {"scope": "everything"}]');
    const checked = await runCommand(['check', '--json'], {
      ...environment,
      DIRECTORY_URL: `file:${join(work, 'nothing')}`,
      DIRECTORY_PEOPLE_FILTER: '(x',
      DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/nothing',
      AUTH_EMBEDDED_CLIENTS: join(work, 'clients.json'),
    });
    expect(checked.code).toBe(1);
    const wrong = (json(checked).findings as { what: string; result: string }[])
      .filter(({ result }) => result === 'problem')
      .map(({ what }) => what);
    expect([...new Set(wrong)]).toEqual([
      'directory file',
      'directory settings',
      'database',
      'clients of the embedded identity provider',
    ]);
    expect(checked.stdout).not.toContain('hunter2');
  });
});

describe('a command that is used wrongly', () => {
  it.each([
    [['frobnicate'], "error: unknown command 'frobnicate'"],
    [['sync', '--frobnicate'], "error: unknown option '--frobnicate'"],
    [['sync', '--confirm', 'x'], "error: option '--confirm <hash>' argument 'x' is invalid."],
    [
      ['sync', '--dry-run', '--confirm', 'f'.repeat(64)],
      "error: option '--confirm <hash>' cannot be used with option '--dry-run'",
    ],
    [['service-account', 'create', '--id', 'x'], "error: required option '--name <name>' not specified"],
    [[], 'Usage: directory'],
  ])('%j ends with exit code 2', async (args, message) => {
    const wrong = await run(...args);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(message);
  });

  it.each([['serve'], ['sync'], ['service-account', 'list']])(
    '%s tells every mistake in the settings, one line each, with exit code 2',
    async (...args) => {
      const wrong = await runCommand(args, { ...environment, PORT: 'x', URL_SIGNING_KEYS: 'short' });
      expect([wrong.code, wrong.stdout]).toEqual([2, '']);
      expect(wrong.stderr.trimEnd().split('\n')).toEqual([
        expect.stringMatching(/^PORT must be/),
        expect.stringMatching(/^URL_SIGNING_KEYS must be/),
      ]);
    },
  );

  it('shows its help and its version when asked to', async () => {
    const help = await run('--help');
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('a start with mistakes in what the settings name', () => {
  it('tells all of them, one line each, before anything is opened', async () => {
    writeFileSync(
      join(work, 'clients.json'),
      '[{"client_id": 1}, {"client_id": "x", "scope": "everything"}]',
    );
    const process = await TestProcess.start('main', [], {
      ...environment,
      AUTH_EMBEDDED_CLIENTS: join(work, 'clients.json'),
      DIRECTORY_GROUPS_FILTER: '(x',
      DIRECTORY_PEOPLE_BASE: 'people',
    }).end();
    expect([process.code, process.stdout]).toEqual([2, '']);
    const lines = process.stderr.trimEnd().split('\n');
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^DIRECTORY_PEOPLE_BASE and DIRECTORY_BASE_DN make no DN: /),
      expect.stringMatching(/^DIRECTORY_GROUPS_FILTER is no filter/),
    ]);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.slice(2).filter((line) => !line.includes('clients.json'))).toEqual([]);
    expect(existsSync(join(work, 'mirror'))).toBe(false);
  });
});
