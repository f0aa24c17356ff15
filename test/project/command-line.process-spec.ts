import { SETTINGS } from '../../src/config/settings.js';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.js';
import { modelSetting } from '../support/builders/model-file.js';
import { commandsIn, formatCommandsPage } from '../../tools/commands/write-commands.mjs';
import { runCommand, TestProcess } from '../support/clients/command.js';

let work: string;
let environment: Environment;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'command-line-'));
  environment = { DATABASE_URL: `embedded:${join(work, 'mirror')}` };
});

afterAll(() => rmSync(work, { recursive: true }));

function run(...args: string[]): Promise<TestProcess> {
  return runCommand(args, environment);
}

describe('directory schema', () => {
  it('prints the committed schema, and accepts it', async () => {
    const printed = await run('schema', '--built-in');
    expect(printed.code).toBe(0);
    expect(printed.stdout).toBe(readFileSync('schema.graphql', 'utf8'));
    expect((await run('schema', '--built-in', '--check')).code).toBe(0);
  });
});

describe('the output of directory check', () => {
  const VALUES = [
    'https://someone:hunter2@host.example/',
    'https:someone:hunter2@host.example',
    'postgres://someone:hunter2@host.example/directory',
    'redis://someone:hunter2@host.example',
    'ldaps://someone:hunter2@host.example',
    'ldap://someone:hun/ter2@hunter2@host.example',
    'socks5://someone:hunter2@host.example',
    'https://a.example,https://someone:hunter2@host.example',
  ];

  it.each(VALUES)('contains no user information of a setting with %s', async (value) => {
    const settings = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, value]));
    const { code, stdout, stderr } = await runCommand(['check', '--json'], settings);
    expect([code, stderr]).toEqual([2, '']);
    expect(stdout).toContain('host.example');
    expect(stdout).not.toMatch(/someone|hunter2|hun\/ter/);
  });
});

describe('a command with wrong usage', () => {
  it.each([
    [['frobnicate'], "error: unknown command 'frobnicate'"],
    [['srve'], 'Did you mean serve?'],
    [['sync', '--frobnicate'], "error: unknown option '--frobnicate'"],
    [['service-account', 'list', '--jsno'], 'Did you mean --json?'],
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
});

describe('the help', () => {
  it('contains the exit codes and every command, and is docs/commands.md (npm run commands)', async () => {
    const help = await run('--help');
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toMatch(/Exit codes:\n {2}0 {4}done\n {2}1 {4}failed[^\n]+\n {2}2 {4}wrong use/);
    const commands = commandsIn(help.stdout);
    expect(commands).toContain('access-log');
    const subcommands = commands.map(async (name) => {
      const { stdout } = await run(name, '--help');
      const names = commandsIn(stdout);
      return names.length === 0 ? [name] : names.map((each) => `${name} ${each}`);
    });
    const described = (await Promise.all(subcommands)).flat();
    const helps = await Promise.all(described.map((name) => run(...name.split(' '), '--help')));
    for (const { code, stdout } of helps) {
      expect(code).toBe(0);
      expect(stdout.split('\n').filter((line) => line.length > 80 && !line.includes('$ '))).toEqual([]);
    }
    const texts = described.map((name, index) => [`directory ${name}`, helps[index]?.stdout ?? ''] as const);
    const page = formatCommandsPage(Object.fromEntries(texts));
    expect(readFileSync('docs/commands.md', 'utf8')).toBe(page);
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('a start with mistakes in files and servers of the settings', () => {
  it('reports all of them, one per line, before it opens anything', async () => {
    writeFileSync(
      join(work, 'clients.json'),
      '[{"client_id": 1}, {"client_id": "x", "scope": "everything"}]',
    );
    const process = await TestProcess.start('main', [], {
      ...environment,
      AUTH_EMBEDDED_CLIENTS: join(work, 'clients.json'),
      ...modelSetting('users: {base: people}\ngroups: {filter: (x}'),
    }).end();
    expect([process.code, process.stdout]).toEqual([2, '']);
    const lines = process.stderr.trimEnd().split('\n');
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/model\.yaml:1:15: users\.base: invalid DN: /),
      expect.stringMatching(/model\.yaml:2:18: groups\.filter: invalid filter: /),
    ]);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.slice(2, -1).filter((line) => !line.includes('clients.json'))).toEqual([]);
    expect(lines.at(-1)).toMatch(/^ {7}→ /);
    expect(existsSync(join(work, 'mirror'))).toBe(false);
  });
});
