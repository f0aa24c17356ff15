import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { findFreePort } from '../support/servers/postgres.mjs';

/** An installation with the file of settings beside the program, and another working directory. */
let installation: string;
let elsewhere: string;

beforeAll(() => {
  installation = mkdtempSync(join(tmpdir(), 'installation-'));
  elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  for (const name of ['dist', 'bin', 'package.json'])
    cpSync(name, join(installation, name), { recursive: true });
  for (const name of ['node_modules', 'sample'])
    symlinkSync(join(process.cwd(), name), join(installation, name));
  writeFileSync(join(installation, 'people.ldif'), buildLdif([{ id: 'anna' }]));
  mkdirSync(join(installation, 'secrets'));
  writeFileSync(join(installation, 'secrets/password'), 'secret');
});

afterAll(() => {
  for (const directory of [installation, elsewhere]) rmSync(directory, { recursive: true });
});

const OWN = `DATABASE_URL=embedded:.data/own
DIRECTORY_URL=file:people.ldif
`;

function run(args: readonly string[], settings: string, environment: Record<string, string> = {}) {
  writeFileSync(join(installation, '.env'), settings);
  const { status, stdout, stderr } = spawnSync(join(installation, 'bin/directory'), args, {
    cwd: elsewhere,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, NO_COLOR: '1', ...environment },
  });
  return { status, stdout, stderr };
}

describe('the file of settings', () => {
  it('is found from every working directory, and so are the files that it names', () => {
    const more = 'DIRECTORY_URL=ldap://127.0.0.1:1\nDIRECTORY_BASE_DN=dc=a\nDIRECTORY_BIND_DN=cn=a\n';
    const { stdout } = run(
      ['check', '--json'],
      `${OWN}${more}DIRECTORY_BIND_PASSWORD_FILE=secrets/password\n`,
    );
    expect(stdout).toContain('none yet: the first start creates it in ' + join(installation, '.data/own'));
    expect(stdout).not.toContain('"what":"settings","result":"problem"');
    expect(run(['sync', '--dry-run'], OWN)).toEqual({
      stderr: '',
      status: 0,
      stdout: expect.stringMatching(/^users \+1 ~0 -0/m) as string,
    });
    rmSync(join(installation, '.data'), { recursive: true });
  });

  it('is another one if ENV_FILE names it, and the environment takes precedence', () => {
    const file = join(elsewhere, 'settings');
    writeFileSync(file, 'PORT=x\nHOST=/\n');
    expect(run(['sync'], OWN, { ENV_FILE: 'settings', HOST: 'localhost' })).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: PORT must be [^\n]+\n {7}→ [^\n]+\n$/) as string,
    });
  });

  it.each([
    ['a directory', { ENV_FILE: '.' }, /\(EISDIR\)/],
    ['absent', { ENV_FILE: 'absent' }, /absent cannot be read \(ENOENT\): correct ENV_FILE/],
  ])('is an error if it is %s', (_, environment, problem) => {
    const wrong = run(['sync'], OWN, environment);
    expect([wrong.status, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toMatch(problem);
    expect(run(['--help'], OWN, environment).status).toBe(0);
  });
});

describe('an embedded database that no service has used', () => {
  const create = ['service-account', 'create', '--id', 'reports', '--name', 'Reports', '--scopes', 'read'];
  const directory = () => join(installation, '.data/own');

  it.each([
    create,
    ['service-account', 'list'],
    ['service-account', 'rotate', 'reports'],
    ['service-account', 'revoke', 'reports'],
    ['signing-key', 'rotate'],
    ['access-log'],
    ['sync'],
  ])('is not created by %s %s', (...args) => {
    const { status, stdout, stderr } = run(args, OWN);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      `The embedded database in ${directory()} does not exist: no service has used it.`,
    );
    expect(existsSync(join(installation, '.data'))).toBe(false);
  });

  it('is created with --new, and commands say where they wrote', () => {
    const created = run([...create, '--new'], OWN);
    expect(created.stdout).toMatch(
      new RegExp(
        `^In the embedded database in ${directory()}: Service account reports is created\\. [^\\n]+\\n\\S+\\n$`,
      ),
    );
    const rotated = run(['service-account', 'rotate', 'reports', '--json'], OWN);
    expect(JSON.parse(rotated.stdout)).toMatchObject({ database: `embedded database in ${directory()}` });
    expect(run(['sync'], OWN).stdout).toContain(`In the embedded database in ${directory()}: Revision 1`);
  });
});

describe('a command', () => {
  it.each(['1', '2'])('that serves with %s processes ends with 0 after Ctrl+C', async (WORKERS) => {
    const service = TestProcess.start('main', [], {
      ...{ WORKERS, PORT: String(await findFreePort()), AUTH_URL: 'https://login.example.org' },
      DATABASE_URL: `embedded:${join(installation, '.data/own')}`,
      DIRECTORY_URL: `file:${join(installation, 'people.ldif')}`,
    });
    await service.untilPrinted(/Ready at/);
    process.kill(service.id, 'SIGINT');
    await service.end();
    expect([service.code, service.stderr]).toEqual([0, '']);
  });
});
