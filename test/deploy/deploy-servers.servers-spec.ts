import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { readConfig } from '../../src/config/config.js';
import { HttpAdapter } from '../../src/http/http-adapter.js';
import { Limits } from '../../src/limits/limits.js';
import { makeSecrets } from '../support/servers/deployment.js';
import { writeHaproxy, writeNginx } from '../support/servers/balancers.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';
import { findProgram } from '../support/servers/system-packages.mjs';

const execute = promisify(execFile);
const MIRROR = 'cn=mirror,dc=example,dc=org';

let work: string;
let secrets: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'deploy-'));
  secrets = makeSecrets(join(work, 'secrets'));
});

afterAll(() => rmSync(work, { recursive: true }));

function programOf(name: string): string {
  const program = findProgram(name);
  if (program === null) throw new Error(`${name} is not installed: npm test installs it first`);
  return program;
}

describe('the configuration of', () => {
  it('nginx is valid', async () => {
    const directory = mkdtempSync(join(work, 'nginx-'));
    const args = writeNginx(directory, await findFreePort(), [3001, 3002]);
    const { stderr } = await execute(programOf('nginx'), ['-t', ...args]);
    expect(stderr).toMatch(/test is successful/);
    expect(stderr).not.toMatch(/\[(warn|error|emerg)\]/);
  });

  it('haproxy is valid', async () => {
    const directory = mkdtempSync(join(work, 'haproxy-'));
    const args = writeHaproxy(directory, await findFreePort(), [3001, 3002]);
    const { stdout, stderr } = await execute(programOf('haproxy'), ['-c', ...args]);
    expect(`${stdout}${stderr}`.toLowerCase()).toContain('configuration file is valid');
    expect(stderr).not.toMatch(/WARNING|ALERT/);
  });

  it('nginx and haproxy closes idle connections before a replica does', () => {
    const { server } = new HttpAdapter(readConfig({})).getInstance<FastifyInstance>();
    const [, ofNginx] = /keepalive_timeout (\d+)s/.exec(readFileSync('deploy/nginx.conf', 'utf8')) ?? [];
    const [, ofHaproxy] = /timeout server (\d+)s/.exec(readFileSync('deploy/haproxy.cfg', 'utf8')) ?? [];
    for (const seconds of [ofNginx, ofHaproxy]) {
      expect(Number(seconds) * 1000).toBeLessThan(server.keepAliveTimeout);
    }
  });

  it('Redis requires the password of the service', async () => {
    const port = await findFreePort();
    const read = (name: string) => readFileSync(join(secrets, name), 'utf8').trim();
    const [, password = ''] = /^requirepass (\w{64})$/.exec(read('redis-configuration')) ?? [];
    expect(read('redis-url')).toBe(`redis://:${password}@redis`);
    const server = spawnBound(programOf('redis-server'), [
      join(secrets, 'redis-configuration'),
      '--port',
      String(port),
    ]);
    const ended = once(server, 'exit');
    try {
      const url = `${read('redis-url').replace('@redis', '@127.0.0.1')}:${port}`;
      const examine = () => new Limits({ redis: { url, prefix: 'test', certificates: null } }).connect();
      let problem = await examine();
      while (/ECONNREFUSED/.test(problem ?? '') && server.exitCode === null) {
        await sleep(50);
        problem = await examine();
      }
      expect(problem).toBeNull();
    } finally {
      server.kill('SIGKILL');
      await ended;
    }
    expect(read('database-url')).toBe(`postgres://directory:${read('postgres-password')}@postgres/directory`);
  });
});

describe('the directory server of the compose file', () => {
  it('is filled once with the sample school, which the mirror reads and its administrator can change', async () => {
    const port = await findFreePort();
    const environment = prepareDirectory(port);
    for (const visit of ['first', 'second']) {
      const server = spawnBound('deploy/openldap/start.sh', [], { env: environment, stdio: 'ignore' });
      const ended = once(server, 'exit');
      try {
        const read = await readUntilThere(port, '(objectClass=inetOrgPerson)', server);
        expect([visit, read]).toEqual([visit, 2000]);
        expect(
          await count(port, '(&(objectClass=groupOfNames)(objectClass=directoryGroup))'),
        ).toBeGreaterThan(100);
        expect(await offersSynchronization(port)).toBe(true);
        expect(await rename(`Ada on her ${visit} visit`)).toBe(0);
        expect(await count(port, `(displayName=Ada on her ${visit} visit)`)).toBe(1);
      } finally {
        server.kill('SIGTERM');
        await ended;
      }
    }
  });

  /** The settings of the container, with all its files below a directory of the test. */
  function prepareDirectory(port: number): NodeJS.ProcessEnv {
    const data = join(work, 'openldap');
    mkdirSync(data);
    const configuration = join(work, 'slapd.conf');
    const schema = join(process.cwd(), 'ldap/directory.schema');
    writeFileSync(
      configuration,
      readFileSync('deploy/openldap/slapd.conf', 'utf8')
        .replace('/etc/ldap/schema/directory.schema', schema)
        .replace('/var/lib/openldap', data),
    );
    return {
      PATH: `${process.env.PATH ?? ''}:/usr/sbin`,
      LDAP_CONFIGURATION: configuration,
      LDAP_DATA: data,
      LDAP_SAMPLE: 'sample/directory.ldif',
      LDAP_PASSWORD_FILE: join(secrets, 'ldap-password'),
      LDAP_URLS: `ldap://127.0.0.1:${port} ${socketUrl()}`,
    };
  }

  const socketUrl = () => `ldapi://${encodeURIComponent(join(work, 'ldapi'))}`;

  /** Runs a command like a shell on the server, without a password, and returns its exit code. */
  async function rename(name: string): Promise<number | null> {
    const args = ['-Q', '-Y', 'EXTERNAL', '-H', socketUrl()];
    const child = spawnBound(programOf('ldapmodify'), args, { stdio: ['pipe', 'ignore', 'ignore'] });
    const dn = 'uid=ada.martin,ou=people,dc=example,dc=org';
    child.stdin.end(`dn: ${dn}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`);
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  }

  async function readUntilThere(port: number, filter: string, server: ChildProcess): Promise<number> {
    for (;;) {
      try {
        return await count(port, filter);
      } catch (error) {
        // −1: no server listens yet.
        if (server.exitCode !== null || (error as { code?: number }).code !== 255) throw error;
        await sleep(50);
      }
    }
  }

  /** The number of entries that the account of the mirror sees. */
  async function count(port: number, filter: string): Promise<number> {
    const password = join(secrets, 'password-as-it-is');
    writeFileSync(password, readFileSync(join(secrets, 'ldap-password'), 'utf8').trim());
    const who = ['-x', '-H', `ldap://127.0.0.1:${port}`, '-D', MIRROR, '-y', password];
    const args = [...who, '-LLL', '-b', 'dc=example,dc=org', filter, '1.1'];
    const { stdout } = await execute(programOf('ldapsearch'), args, { maxBuffer: 1 << 26 });
    return (stdout.match(/^dn:/gm) ?? []).length;
  }

  /** RFC 4533 §2.2. */
  async function offersSynchronization(port: number): Promise<boolean> {
    const args = ['-x', '-H', `ldap://127.0.0.1:${port}`, '-LLL', '-s', 'base', '-b', '', 'supportedControl'];
    const { stdout } = await execute(programOf('ldapsearch'), args);
    return stdout.includes('1.3.6.1.4.1.4203.1.9.1.1');
  }
});
