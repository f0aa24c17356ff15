import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from './postgres.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { DirectoryProcess } from './directory-process.js';
import { type LdapAccount, runProgram } from './ldap-tools.mjs';
import { makeCertificates } from './slapd.mjs';
import { variable } from './store.js';
import { requireProgram } from './system-packages.mjs';

const REALM = 'ad.example.org';
export const AD_SUFFIX = 'DC=ad,DC=example,DC=org';
/** An account that sees deleted entries. */
export const ADMINISTRATOR = { dn: `CN=Administrator,CN=Users,${AD_SUFFIX}`, password: 'Administrator-1' };
const PROVISION = resolve('test/support/servers/provision-samba.py');
/** Where Debian installs the Python modules of Samba for; another one may come first on the PATH. */
const PYTHON = '/usr/bin/python3';

/** The directories that the settings name. The server creates some of them itself. */
const DIRECTORIES = ['private', 'state', 'cache', 'lock', 'run', 'ncalrpc', 'winbindd'];

/**
 * A domain controller of Active Directory: Samba as one process, which serves LDAP and nothing else.
 *
 * Samba always listens on the ports 389, 636, 3268 and 3269 of its interfaces. Each server has an address of the
 * loopback network 127.0.0.0/8 instead, made from a port that no other process of a test run has, so that several can
 * run at once. Another server that listens on port 389 of all addresses prevents the start.
 */
export class TestSamba extends DirectoryProcess {
  private constructor(
    directory: string,
    /** The IP address, for which its certificate is. */
    readonly host: string,
  ) {
    super(directory, AD_SUFFIX);
  }

  /** Provisions a domain, which takes four seconds, and starts its server. */
  static async start(): Promise<TestSamba> {
    requireLdapPort();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'samba-'));
    const server = new TestSamba(directory, addressOf(await findFreePort()));
    try {
      await provision(directory);
      await makeCertificates(directory, `IP:${server.host}`);
      await server.start();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  get url(): string {
    return `ldap://${this.host}`;
  }

  async start(): Promise<void> {
    writeFileSync(join(this.directory, 'smb.conf'), configurationOf(this.directory, this.host));
    const options = ['--interactive', '--no-process-group', '--model=single', '--debuglevel=1'];
    const child = spawnBound(
      requireProgram('samba'),
      [...options, `--configfile=${this.directory}/smb.conf`],
      { cwd: this.directory, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    await this.untilServed(child, () => output);
  }

  /**
   * The ids of the direct members of a group, and of those whose primary group it is, by the tool of the vendor. Principals of other
   * domains are not in the directory: the tool lists their SIDs.
   */
  async listMembers(group: string): Promise<string[]> {
    const args = ['group', 'listmembers', group, `--configfile=${this.directory}/smb.conf`];
    const { code, stdout, stderr } = await runProgram('samba-tool', args);
    if (code !== 0) throw new Error(`samba-tool: ${stderr}`);
    const names = stdout.trim().split('\n');
    return names.filter((name) => !name.startsWith('S-1-')).sort();
  }

  protected get administrator(): LdapAccount {
    return { ...ADMINISTRATOR, url: `ldaps://${this.host}`, authority: this.authority };
  }
}

/** A password as change records set it: in quotes, as UTF-16 ([MS-ADTS] 3.1.1.3.1.5.1). */
export function unicodePassword(password: string): string {
  return `unicodePwd:: ${Buffer.from(`"${password}"`, 'utf16le').toString('base64')}`;
}

function addressOf(port: number): string {
  return `127.1.${port >> 8}.${port & 0xff}`;
}

/** @throws when only root may listen on the port of LDAP */
function requireLdapPort(): void {
  const first = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  if (process.getuid?.() === 0 || first <= 389) return;
  const command = 'sudo sysctl net.ipv4.ip_unprivileged_port_start=389';
  throw new Error(
    `Samba listens on port 389, which only root may open. Run the tests as root, or:\n  ${command}`,
  );
}

async function provision(directory: string): Promise<void> {
  for (const name of DIRECTORIES) mkdirSync(join(directory, name));
  const file = join(directory, 'smb.conf');
  writeFileSync(file, configurationOf(directory, '127.0.0.1'));
  await promisify(execFile)(PYTHON, [PROVISION, file, ADMINISTRATOR.password], { cwd: directory });
}

function configurationOf(directory: string, host: string): string {
  const at = (name: string) => join(directory, name);
  return `[global]
netbios name = DC1
realm = ${REALM.toUpperCase()}
workgroup = AD
server role = active directory domain controller
server services = ldap
dcerpc endpoint servers =
interfaces = ${host}/8
bind interfaces only = yes
private dir = ${at('private')}
state directory = ${at('state')}
cache directory = ${at('cache')}
lock directory = ${at('lock')}
pid directory = ${at('run')}
ncalrpc dir = ${at('ncalrpc')}
winbindd socket directory = ${at('winbindd')}
ntp signd socket directory = ${at('ntp')}
binddns dir = ${at('dns')}
usershare path =
tls certfile = ${at('server.pem')}
tls keyfile = ${at('server.key')}
tls cafile = ${at('ca.pem')}
# Nothing here has to survive the machine.
ldb:nosync = true

[sysvol]
path = ${at('state/sysvol')}

[netlogon]
path = ${at(`state/sysvol/${REALM}/scripts`)}
`;
}
