import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServed } from './ldap-tools.mjs';
import { findFreePort } from './postgres.mjs';
import { ROOT_DN, ROOT_PASSWORD, SUFFIX } from './slapd.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { variable } from './store.js';
import { requireProgram } from './system-packages.mjs';

const execute = promisify(execFile);

/**
 * An OpenLDAP server as Debian's package installs it, configured by `cn=config` and administered through a socket by the current
 * user.
 */
export class InstalledSlapd {
  private constructor(
    readonly directory: string,
    readonly port: number,
    private readonly child: ChildProcess,
  ) {}

  /** @param ldif content besides the suffix */
  static async start(ldif: string): Promise<InstalledSlapd> {
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'installed-slapd-'));
    for (const name of ['config', 'data']) mkdirSync(join(directory, name));
    const configuration = join(directory, 'config.ldif');
    const content = join(directory, 'content.ldif');
    writeFileSync(configuration, configurationOf(directory));
    writeFileSync(content, `${FRAME}\n${ldif}`);
    const config = ['-F', join(directory, 'config')];
    const slapadd = requireProgram('slapadd');
    await execute(slapadd, [...config, '-n', '0', '-l', configuration]);
    await execute(slapadd, [...config, '-q', '-w', '-b', SUFFIX, '-l', content]);
    const port = await findFreePort();
    const urls = `ldap://127.0.0.1:${port}/ ${socketOf(directory)}`;
    const child = spawnBound(requireProgram('slapd'), [...config, '-h', urls, '-d', '0'], {
      stdio: 'ignore',
    });
    const server = new InstalledSlapd(directory, port, child);
    while (!(await isServed(server.url))) {
      if (child.exitCode !== null) throw new Error('slapd does not start');
      await sleep(20);
    }
    return server;
  }

  get url(): string {
    return `ldap://localhost:${this.port}`;
  }

  get socket(): string {
    return socketOf(this.directory);
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }
}

const FRAME = `dn: ${SUFFIX}
objectClass: dcObject
objectClass: organization
dc: example
o: Example
`;

function configurationOf(directory: string): string {
  const [user, group] = ['-u', '-g'].map((option) => execFileSync('id', [option]).toString().trim());
  const administrator = `gidNumber=${group ?? ''}+uidNumber=${user ?? ''},cn=peercred,cn=external,cn=auth`;
  const all = `olcAccess: {0}to * by dn.exact=${administrator} manage by * break`;
  return `dn: cn=config
objectClass: olcGlobal
cn: config

dn: cn=module{0},cn=config
objectClass: olcModuleList
cn: module{0}
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file:///etc/ldap/schema/core.ldif

include: file:///etc/ldap/schema/cosine.ldif

include: file:///etc/ldap/schema/inetorgperson.ldif

dn: olcDatabase={-1}frontend,cn=config
objectClass: olcDatabaseConfig
objectClass: olcFrontendConfig
olcDatabase: {-1}frontend
${all}

dn: olcDatabase={0}config,cn=config
objectClass: olcDatabaseConfig
olcDatabase: {0}config
${all}

dn: olcDatabase={1}mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: {1}mdb
olcSuffix: ${SUFFIX}
olcDbDirectory: ${directory}/data
olcDbMaxSize: 1073741824
olcDbNoSync: TRUE
olcRootDN: ${ROOT_DN}
olcRootPW: ${ROOT_PASSWORD}
olcAccess: {0}to attrs=userPassword by self write by anonymous auth by * none
olcAccess: {1}to * by * read
`;
}

function socketOf(directory: string): string {
  return `ldapi://${encodeURIComponent(join(directory, 'socket'))}`;
}
