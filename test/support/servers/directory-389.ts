import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from './postgres.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { DirectoryProcess } from './directory-process.js';
import { type LdapAccount, runProgram } from './ldap-tools.mjs';
import { makeCertificates, SUFFIX } from './slapd.mjs';
import { variable } from './store.js';
import { requireProgram } from './system-packages.mjs';

const execute = promisify(execFile);

/** The account that may read and change everything. */
export const MANAGER = { dn: 'cn=Directory Manager', password: 'manager-secret' };
/** The configuration that its package has for new servers, with names in `%` for what differs. */
const TEMPLATE = '/usr/share/dirsrv/data/template-dse.ldif';
/** Plugins that are off in it: entryUSN, memberOf, and members that leave groups when they are deleted. */
const PLUGINS = ['USN', 'MemberOf Plugin', 'referential integrity postoperation'];
const DIRECTORIES = ['bak', 'config', 'config/schema', 'db', 'ldif', 'lock', 'log', 'run', 'tmp'];

/**
 * A 389 Directory Server as a plain process, without dscreate and systemd: its configuration names a directory of the
 * run for everything, so that neither root nor /etc and /var are needed. It listens on free ports of 127.0.0.1, on one
 * for LDAP with StartTLS and on one for LDAPS.
 */
export class TestDirectory389 extends DirectoryProcess {
  private constructor(
    directory: string,
    readonly port: number,
    readonly tlsPort: number,
  ) {
    super(directory, SUFFIX);
  }

  /** Starts one with an empty suffix. */
  static async start(): Promise<TestDirectory389> {
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'directory-389-'));
    const server = new TestDirectory389(directory, await findFreePort(), await findFreePort());
    try {
      await server.create();
      await server.start();
      await server.apply(BACKEND);
      // The plugins that it adds at the first start are loaded at the second one.
      await server.stop();
      await server.start();
      // Its number of changes is not a usual one after a restart.
      await server.apply(SUFFIX_ENTRY);
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  get url(): string {
    return `ldap://127.0.0.1:${this.port}`;
  }

  /** The ids of the users who are direct members of a group, by the tool of the vendor. */
  async listMembers(group: string): Promise<string[]> {
    const account = ['-D', MANAGER.dn, '-w', MANAGER.password, '-b', SUFFIX];
    const command = ['group', 'members', group];
    const { code, stdout, stderr } = await runProgram('dsidm', [this.url, ...account, ...command]);
    if (code !== 0) throw new Error(`dsidm: ${stderr}`);
    return [...stdout.matchAll(/^dn: uid=([^,]*)/gm)].map(([, id = '']) => id).sort();
  }

  async start(): Promise<void> {
    const options = ['-D', this.configuration, '-i', join(this.directory, 'run/pid'), '-d', '0'];
    const child = spawnBound(requireProgram('ns-slapd'), options, { cwd: this.directory, stdio: 'ignore' });
    await this.untilServed(child, () => readFileSync(join(this.directory, 'log/errors'), 'utf8'));
    // A semaphore for statistics, which would stay after a kill. The server has it open and needs no name.
    rmSync(`/dev/shm/sem.${basename(this.configuration)}.stats`, { force: true });
  }

  protected get administrator(): LdapAccount {
    return { ...MANAGER, url: `ldaps://127.0.0.1:${this.tlsPort}`, authority: this.authority };
  }

  /** The name of the server is the name of this directory. */
  private get configuration(): string {
    return join(this.directory, 'config');
  }

  private async apply(records: string): Promise<void> {
    const { code, stderr } = await this.modify(records);
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  private async create(): Promise<void> {
    for (const name of DIRECTORIES) mkdirSync(join(this.directory, name));
    cpSync('/etc/dirsrv/config', this.configuration, { recursive: true });
    cpSync('/etc/dirsrv/schema', join(this.configuration, 'schema'), { recursive: true });
    writeFileSync(join(this.configuration, 'dse.ldif'), this.buildConfiguration());
    await makeCertificates(this.directory);
    await storeCertificates(this.directory, this.configuration);
  }

  private buildConfiguration(): string {
    const at = (name: string) => join(this.directory, name);
    const values: Record<string, string> = {
      schema_dir: at('config/schema'),
      lock_dir: at('lock'),
      tmp_dir: at('tmp'),
      cert_dir: at('config'),
      ldif_dir: at('ldif'),
      bak_dir: at('bak'),
      run_dir: at('run'),
      inst_dir: this.directory,
      log_dir: at('log'),
      config_dir: at('config'),
      db_dir: at('db'),
      db_home_dir: at('db'),
      db_lib: 'bdb',
      fqdn: 'localhost',
      ds_port: `${this.port}\nnsslapd-secureport: ${this.tlsPort}\nnsslapd-security: on`,
      ds_user: userInfo().username,
      ds_suffix: SUFFIX,
      rootdn: MANAGER.dn,
      ds_passwd: hashPassword(MANAGER.password),
      ldapi: at('run/ldapi'),
      ldapi_enabled: 'off',
      ldapi_autobind: 'off',
    };
    const template = readFileSync(TEMPLATE, 'utf8').replace(/%(\w+)%/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`${TEMPLATE} has %${name}%, which is unknown here`);
      return value;
    });
    return [withPlugins(template.trimEnd()), ...ENTRY_UUID_PLUGINS, ''].join('\n\n');
  }
}

const BACKEND = `dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
changetype: add
objectClass: extensibleObject
objectClass: nsBackendInstance
nsslapd-suffix: ${SUFFIX}

dn: cn="${SUFFIX}",cn=mapping tree,cn=config
changetype: add
objectClass: extensibleObject
objectClass: nsMappingTree
cn: ${SUFFIX}
nsslapd-state: backend
nsslapd-backend: userRoot
`;

const SUFFIX_ENTRY = `dn: ${SUFFIX}
changetype: add
objectClass: domain
dc: example
`;

/** The server adds these plugins to its configuration at the first start. */
const ENTRY_UUID_PLUGINS = [
  ['entryuuid', 'libentryuuid-plugin', 'entryuuid_plugin_init', 'betxnpreoperation'],
  ['entryuuid_syntax', 'libentryuuid-syntax-plugin', 'entryuuid_syntax_plugin_init', 'syntax'],
].map(([name, path, start, type]) =>
  [
    `dn: cn=${name ?? ''},cn=plugins,cn=config`,
    'objectClass: nsSlapdPlugin',
    `cn: ${name ?? ''}`,
    `nsslapd-pluginPath: ${path ?? ''}`,
    `nsslapd-pluginInitfunc: ${start ?? ''}`,
    `nsslapd-pluginType: ${type ?? ''}`,
    'nsslapd-pluginEnabled: on',
    `nsslapd-pluginId: ${name ?? ''}`,
    'nsslapd-pluginVersion: none',
    'nsslapd-pluginVendor: 389 Project',
    `nsslapd-pluginDescription: ${name ?? ''}`,
  ].join('\n'),
);

/** A configuration in which plugins are on. */
function withPlugins(configuration: string): string {
  const enable = (record: string) => {
    const isWanted = PLUGINS.some((name) => record.includes(`\ncn: ${name}\n`));
    return isWanted ? record.replace(/^(nsslapd-pluginenabled:) off$/im, '$1 on') : record;
  };
  return configuration.split('\n\n').map(enable).join('\n\n');
}

/** Puts a certificate and its key where NSS, the library of the server, finds it under the name in the configuration. */
async function storeCertificates(directory: string, database: string): Promise<void> {
  const run = (name: string, ...args: string[]) => execute(requireProgram(name), args, { cwd: directory });
  const key = ['-inkey', 'server.key', '-in', 'server.pem', '-certfile', 'ca.pem'];
  const named = ['-name', 'Server-Cert', '-passout', 'pass:', '-out', 'server.p12'];
  await run('openssl', 'pkcs12', '-export', ...key, ...named);
  await run('certutil', '-N', '-d', database, '--empty-password');
  await run('pk12util', '-i', 'server.p12', '-d', database, '-W', '', '-K', '');
}

function hashPassword(password: string): string {
  const salt = randomBytes(8);
  const hash = createHash('sha512').update(password).update(salt).digest();
  return `{SSHA512}${Buffer.concat([hash, salt]).toString('base64')}`;
}
