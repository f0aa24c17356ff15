import { SETTINGS } from '../../src/config/settings.js';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../src/config/config.js';
import { modelSetting } from '../support/builders/model-file.js';
import { runCommand, TestProcess } from '../support/clients/command.js';

let work: string;
let environment: Environment;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'command-line-'));
  environment = { DATABASE_URL: `embedded:${join(work, 'mirror')}` };
});

afterAll(() => {
  rmSync(work, { recursive: true });
});

function run(...args: string[]): Promise<TestProcess> {
  return runCommand(args, environment);
}

function textLike(pattern: RegExp): string {
  return expect.stringMatching(pattern) as string;
}

function json({ stdout }: TestProcess): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('directory schema', () => {
  it('prints the committed schema, and accepts it', async () => {
    const printed = await run('schema', '--built-in');
    expect(printed.code).toBe(0);
    expect(printed.stdout).toBe(readFileSync('schema.graphql', 'utf8'));
    expect((await run('schema', '--built-in', '--check')).code).toBe(0);
  });

  it('prints one line for a missing file', async () => {
    const bin = join(process.cwd(), 'dist/bundled/cli.js');
    const elsewhere = promisify(execFile)(
      process.execPath,
      [bin, 'schema', '--built-in', '--check', '--json'],
      {
        cwd: work,
      },
    );
    const message = "ENOENT: no such file or directory, open 'schema.graphql'";
    await expect(elsewhere).rejects.toMatchObject({
      code: 1,
      stdout: `${JSON.stringify({ error: { code: 'FILE_UNUSABLE', message, problems: [message] } })}\n`,
    });
  });
});

describe('directory check', () => {
  it('reports all problems of the settings at once', async () => {
    const checked = await runCommand(['check', '--json'], { ...environment, PORT: 'x', LOG_LEVEL: 'loud' });
    expect(checked.code).toBe(2);
    expect(json(checked).findings).toEqual([
      expect.objectContaining({ what: 'settings', result: 'problem', text: textLike(/^PORT /) }),
      expect.objectContaining({ what: 'settings', result: 'problem', text: textLike(/^LOG_LEVEL /) }),
    ]);
    expect(json(checked).sum).toEqual({ ok: 0, warning: 0, problem: 2 });
  });

  it('finds the files of the default settings from every working directory', async () => {
    const bin = join(process.cwd(), 'dist/bundled/cli.js');
    const options = { cwd: work, env: { PATH: process.env.PATH, ...environment } };
    const { stdout } = await promisify(execFile)(process.execPath, [bin, 'check', '--json'], options);
    expect(JSON.parse(stdout)).toMatchObject({ sum: { problem: 0 } });
  });

  it('says that the port of the directory is of another protocol', async () => {
    const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const DIRECTORY_URL = `ldap://127.0.0.1:${port}`;
    const checked = await runCommand(['check', '--json'], { ...environment, DIRECTORY_URL });
    server.close();
    expect(json(checked).findings).toContainEqual(
      expect.objectContaining({ what: 'directory server', fix: textLike(/of another protocol/) }),
    );
  });

  it('reports all problems of the files and servers of the settings at once', async () => {
    writeFileSync(join(work, 'clients.json'), '[{"client_id": 1}, {"scope": "everything"}]');
    writeFileSync(join(work, 'trusted.json'), '{"a": "{", "b": "{ nothing }", "c": "{ __typename }"}');
    const checked = await runCommand(['check', '--json'], {
      ...environment,
      DIRECTORY_URL: `file:${join(work, 'nothing')}`,
      DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/nothing',
      AUTH_EMBEDDED_CLIENTS: join(work, 'clients.json'),
      TRUSTED_DOCUMENTS: join(work, 'trusted.json'),
    });
    expect(checked.code).toBe(1);
    const problems = (json(checked).findings as { what: string; result: string; fix: unknown }[]).filter(
      ({ result }) => result === 'problem',
    );
    expect(problems.filter(({ fix }) => typeof fix !== 'string')).toEqual([]);
    const wrong = problems.map(({ what }) => what);
    expect([...new Set(wrong)]).toEqual([
      'directory file',
      'trusted documents',
      'database',
      'clients of the embedded identity provider',
    ]);
    expect(checked.stdout.match(/«\w» is not valid/g)).toEqual(['«a» is not valid', '«b» is not valid']);
    expect(checked.stdout).not.toContain('hunter2');
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
    for (const args of [['check'], ['check', '--json']]) {
      const { code, stdout, stderr } = await runCommand(args, settings);
      expect([code, stderr]).toEqual([2, '']);
      expect(stdout).toContain('host.example');
      expect(stdout).not.toMatch(/someone|hunter2|hun\/ter/);
    }
  });

  it('warns of plain HTTP to the identity provider, unless it is on this machine', async () => {
    const warningsOf = async (AUTH_URL: string, AUTH_INTROSPECTION_URL = '') => {
      const checked = await runCommand(['check', '--json'], {
        ...environment,
        DIRECTORY_URL: `file:${join(work, 'nothing')}`,
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
        AUTH_URL,
        AUTH_INTROSPECTION_URL,
      });
      return (
        json(checked).findings as { what: string; result: string; text: string; fix: unknown }[]
      ).filter(({ what }) => what === 'encryption of the identity provider');
    };
    expect(await warningsOf('http://127.0.0.1:1')).toEqual([]);
    expect(await warningsOf('http://localhost:1')).toEqual([]);
    expect(await warningsOf('https://id.invalid')).toEqual([]);
    expect(await warningsOf('http://id.invalid', 'http://tokens.invalid/introspect')).toMatchObject([
      { result: 'warning', text: textLike(/^AUTH_URL is plain http/), fix: textLike(/https/) },
      { result: 'warning', text: textLike(/^AUTH_INTROSPECTION_URL is plain http.* tokens\.invalid /) },
    ]);
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

  it.each([['serve'], ['sync'], ['service-account', 'list']])(
    '%s reports all mistakes in the settings, one per line, with exit code 2',
    async (...args) => {
      const wrong = await runCommand(args, { ...environment, PORT: 'x', URL_SIGNING_KEYS: 'short' });
      expect([wrong.code, wrong.stdout]).toEqual([2, '']);
      expect(wrong.stderr.trimEnd().split('\n')).toEqual([
        expect.stringMatching(/^PORT must be/),
        expect.stringMatching(/^URL_SIGNING_KEYS must be/),
      ]);
    },
  );

  it('responds in JSON with --json, also to wrong usage', async () => {
    const wrong = await run('service-account', 'lst', '--json');
    expect([wrong.code, wrong.stderr, json(wrong)]).toEqual([
      2,
      '',
      {
        error: {
          code: 'WRONG_USE',
          message: "unknown command 'lst' (Did you mean list?)",
          problems: ["unknown command 'lst' (Did you mean list?)"],
        },
      },
    ]);
    const settings = await runCommand(['sync', '--json'], { ...environment, PORT: 'x', HOST: '/' });
    expect([settings.code, settings.stderr, json(settings)]).toEqual([
      2,
      '',
      {
        error: expect.objectContaining({
          code: 'WRONG_SETTINGS',
          problems: [textLike(/^HOST /), textLike(/^PORT /)],
        }) as object,
      },
    ]);
    const away = await runCommand(['service-account', 'list', '--json'], {
      DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/nothing',
    });
    expect([away.code, json(away)]).toEqual([
      1,
      { error: expect.objectContaining({ code: 'DATABASE_UNUSABLE' }) as object },
    ]);
  });
});

describe('the help', () => {
  it('contains the exit codes, and examples of every command', async () => {
    const help = await run('--help');
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toMatch(/Exit codes:\n {2}0 {2}done\n {2}1 {2}failed[^\n]+\n {2}2 {2}wrong use/);
    const commands = [...help.stdout.matchAll(/^ {2}([a-z-]+) (?:<|\[options| {2})/gm)].map(
      ([, name = '']) => name,
    );
    expect(commands).toContain('access-log');
    const described = [
      ...commands,
      ...['create', 'update', 'list', 'rotate', 'revoke'].map((name) => `service-account ${name}`),
      'signing-key rotate',
    ];
    const helps = await Promise.all(described.map((name) => run(...name.split(' '), '--help')));
    for (const { code, stdout } of helps) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nExamples:\n {2}[^\n]+:\n {4}\$ .\/directory /);
      expect(stdout.split('\n').filter((line) => line.length > 80 && !line.includes('$ '))).toEqual([]);
    }
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('is colored only if colors are requested', async () => {
    const inColor = { ...environment, NO_COLOR: '', FORCE_COLOR: '1', PORT: 'x' };
    const [plain, colored, help] = await Promise.all([
      runCommand(['check'], { ...environment, PORT: 'x' }),
      runCommand(['check'], inColor),
      runCommand(['--help'], inColor),
    ]);
    expect(plain.stdout).not.toContain('\u001b');
    expect(colored.stdout).toContain('\u001b[31mPROBLEM \u001b[39m settings: PORT must be');
    expect(help.stdout).toContain('\u001b[1mCommands:');
  });
});

describe('the completion', () => {
  it('completes commands and options in a shell', async () => {
    // Calls the completion of bash; the completed word is found by its name.
    const script = `
      directory() { node dist/bundled/cli.js "$@"; }
      eval "$(directory completion bash)"; eval "$(directory completion bash)"
      complete_line() {
        COMP_LINE="$1"; COMP_POINT=\${#1}; read -ra COMP_WORDS <<< "$1"; [[ "$1" == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); COMPREPLY=()
        "$(complete -p directory | sed -E 's/.*-F ([^ ]+).*/\\1/')" directory
        echo "\${COMPREPLY[@]}"
      }
      compopt() { :; }
      complete_line 'directory se'
      complete_line 'directory service-account r'
      complete_line 'directory sync --dr'
      complete_line 'directory sync $(touch '${work}/evaluated') \`touch '${work}/evaluated'\` '`;
    const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], {
      env: { PATH: process.env.PATH ?? '' },
      timeout: 600_000,
    });
    expect(stdout.split('\n').map((line) => line.trim())).toEqual([
      'serve service-account',
      'rotate revoke',
      '--dry-run',
      '',
      '',
    ]);
    expect([stderr, existsSync(join(work, 'evaluated'))]).toEqual(['', false]);
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
      expect.stringMatching(/model\.yaml:1:15: users\.base is an invalid DN: /),
      expect.stringMatching(/model\.yaml:2:18: groups\.filter is an invalid filter: /),
    ]);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.slice(2).filter((line) => !line.includes('clients.json'))).toEqual([]);
    expect(existsSync(join(work, 'mirror'))).toBe(false);
  });
});
