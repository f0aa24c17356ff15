// An OpenLDAP server of the tests: slapd as a plain process on a free port of the loopback interface.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from '../ports.mjs';
import { spawnBound } from '../spawn-bound.mjs';
import { isServed, modify, search } from './ldap-tools.mjs';
import { findProgram } from './system-packages.mjs';

const execute = promisify(execFile);

export const SUFFIX = 'dc=example,dc=org';
export const ROOT_DN = `cn=admin,${SUFFIX}`;
export const ROOT_PASSWORD = 'secret';
/** The account of a service that mirrors the directory: it reads everything, without a limit. */
export const MIRROR_DN = `cn=mirror,${SUFFIX}`;
export const MIRROR_PASSWORD = 'mirror-secret';

const SCHEMAS = '/etc/ldap/schema';
const MODULES = '/usr/lib/ldap';
const ACL = [
  'access to attrs=userPassword by anonymous auth by * none',
  `access to * by dn.exact="${MIRROR_DN}" read by * none`,
];
const LIMITS = `dn.exact="${MIRROR_DN}" size=unlimited time=unlimited`;

/** Entries of every directory, unless its LDIF contains them. */
const FRAME = [
  [SUFFIX, ['objectClass: dcObject', 'objectClass: organization', 'dc: example', 'o: Example']],
  [`ou=people,${SUFFIX}`, ['objectClass: organizationalUnit', 'ou: people']],
  [`ou=groups,${SUFFIX}`, ['objectClass: organizationalUnit', 'ou: groups']],
  [
    MIRROR_DN,
    [
      'objectClass: organizationalRole',
      'objectClass: simpleSecurityObject',
      'cn: mirror',
      `userPassword: ${MIRROR_PASSWORD}`,
    ],
  ],
];

/** @param options see slapd.d.mts */
export async function startSlapd(options = {}) {
  const directory = options.directory ?? makeDirectory();
  mkdirSync(directory, { recursive: true });
  const server = new TestSlapd(directory, { syncprov: true, ldif: '', ...options });
  try {
    if (options.empty) mkdirSync(join(directory, 'data'), { recursive: true });
    else if (!existsSync(join(directory, 'data/data.mdb'))) await server.load();
    await server.start();
    return server;
  } catch (error) {
    if (options.directory === undefined) await server.remove();
    throw error;
  }
}

function makeDirectory() {
  return mkdtempSync(join(process.env.TEST_WORK_DIRECTORY ?? tmpdir(), 'slapd-'));
}

class TestSlapd {
  #process = null;
  #options;

  constructor(directory, options) {
    this.directory = directory;
    this.#options = options;
  }

  get port() {
    return this.#options.port;
  }

  get tlsPort() {
    return this.#options.tlsPort;
  }

  get url() {
    return `ldap://127.0.0.1:${this.port}`;
  }

  /** Certificate (PEM) of the authority that signed the server's. */
  get ca() {
    return readFileSync(join(this.directory, 'ca.pem'));
  }

  /** Fills an empty database. */
  async load() {
    mkdirSync(join(this.directory, 'data'));
    if (this.#options.tls) await makeCertificates(this.directory);
    const content = completeLdif(this.#options.ldif);
    const file = join(this.directory, 'content.ldif');
    writeFileSync(file, `${content}\n`);
    // -w writes the contextCSN, without which the first synchronization would have no cookie.
    const { serverId } = this.#options;
    await this.#add(file, '-w', ...(serverId === undefined ? [] : ['-S', String(serverId)]));
    rmSync(file);
  }

  async start() {
    const wanted = { port: this.#options.port, tlsPort: this.#options.tlsPort };
    for (let attempt = 1; ; attempt++) {
      this.#options.port = wanted.port ?? (await findFreePort());
      this.#options.tlsPort = wanted.tlsPort ?? (await findFreePort());
      const problem = await this.#tryToStart();
      if (problem === null) return;
      // Another process was given the same port in the meantime.
      if (attempt === 5) throw new Error(`slapd does not start: ${problem}`);
    }
  }

  /** The error output of slapd if it ended; null if it runs. */
  async #tryToStart() {
    const urls = [`${this.url}/`, ...(this.#options.tls ? [`ldaps://127.0.0.1:${this.tlsPort}/`] : [])];
    const server = spawnBound(
      findProgram('slapd'),
      ['-f', this.#writeConfiguration(), '-h', urls.join(' '), '-d', '0'],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let errorOutput = '';
    server.stderr.setEncoding('utf8').on('data', (text) => (errorOutput += text));
    server.ended = new Promise((resolve) => server.once('exit', (code, signal) => resolve(signal ?? code)));
    while (server.exitCode === null && server.signalCode === null) {
      if (await this.#isServedBy(server.pid)) {
        this.#process = server;
        return null;
      }
      await sleep(20);
    }
    return errorOutput;
  }

  /** Whether this process responds, and not another one that had the port before. */
  async #isServedBy(pid) {
    const file = join(this.directory, 'slapd.pid');
    if (!existsSync(file) || Number(readFileSync(file, 'utf8')) !== pid) return false;
    return await isServed(this.url);
  }

  /** @param signal SIGTERM lets it send a Notice of Disconnection, SIGKILL does not */
  async stop(signal = 'SIGTERM') {
    const server = this.#process;
    this.#process = null;
    if (server === null) return;
    server.kill(signal);
    await server.ended;
  }

  /** Pauses the process (SIGSTOP) until `unfreeze`. */
  freeze() {
    this.#process?.kill('SIGSTOP');
  }

  unfreeze() {
    this.#process?.kill('SIGCONT');
  }

  /** Stops it, and starts it on the same data and port. */
  async restart(options = {}) {
    await this.stop();
    Object.assign(this.#options, options);
    await this.start();
  }

  /** Stops it, and removes everything. */
  async remove() {
    await this.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Applies change records as the root DN. */
  modify(ldif) {
    return modify(this.#root, ldif);
  }

  /** The content as the root DN sees it, as LDIF without folded lines. */
  search(query = {}) {
    return search(this.#root, { base: SUFFIX, ...query });
  }

  get #root() {
    return { url: this.url, dn: ROOT_DN, password: ROOT_PASSWORD };
  }

  /** The whole database with operational attributes, like a backup. */
  async dump() {
    const { stdout } = await execute(
      findProgram('slapcat'),
      ['-o', 'ldif-wrap=no', '-f', join(this.directory, 'slapd.conf')],
      { maxBuffer: 1 << 28 },
    );
    return stdout;
  }

  /** Replaces the database of a stopped server by a dump. */
  async restore(ldif) {
    const file = join(this.directory, 'restored.ldif');
    writeFileSync(file, ldif);
    rmSync(join(this.directory, 'data'), { recursive: true });
    mkdirSync(join(this.directory, 'data'));
    await this.#add(file);
    rmSync(file);
  }

  /** Adds the records of an LDIF file, which may be larger than a text, to the database of a stopped server. */
  async addFile(file) {
    // -w updates the contextCSN, without which clients would not be sent what was added. -j leaves out the line of the version.
    await this.#add(file, '-w', '-j', '2');
  }

  async #add(file, ...options) {
    await execute(findProgram('slapadd'), ['-q', ...options, '-f', this.#writeConfiguration(), '-l', file]);
  }

  #writeConfiguration() {
    const file = join(this.directory, 'slapd.conf');
    writeFileSync(file, configurationOf(this.directory, this.#options).join('\n'));
    return file;
  }
}

function configurationOf(directory, options) {
  const { syncprov, refint, tls, clientAccount, acl = ACL, limits = LIMITS, dynlist } = options;
  const { serverId, providers = [], multiProvider, maxBytes = 1_073_741_824 } = options;
  const at = (name) => `"${join(directory, name)}"`;
  return [
    ...['core', 'cosine', 'inetorgperson', 'nis', ...(dynlist ? ['dyngroup'] : [])].map(
      (name) => `include ${SCHEMAS}/${name}.schema`,
    ),
    `include "${new URL('../../../ldap/directory.schema', import.meta.url).pathname}"`,
    `modulepath ${MODULES}`,
    ...[
      'back_mdb',
      ...Object.entries({ syncprov, refint, dynlist }).flatMap(([name, isOn]) => (isOn ? [name] : [])),
    ].map((name) => `moduleload ${name}`),
    `pidfile ${at('slapd.pid')}`,
    // The default maximum of a request is 4 MB, and pictures are larger.
    'sockbuf_max_incoming_auth 67108864',
    ...(tls
      ? [
          `TLSCACertificateFile ${at('ca.pem')}`,
          `TLSCertificateFile ${at('server.pem')}`,
          `TLSCertificateKeyFile ${at('server.key')}`,
        ]
      : []),
    ...(clientAccount === undefined
      ? []
      : ['TLSVerifyClient demand', `authz-regexp "^cn=localhost$" "${clientAccount}"`]),
    ...(serverId === undefined ? [] : [`serverID ${serverId}`]),
    'database mdb',
    `maxsize ${maxBytes}`,
    `suffix "${SUFFIX}"`,
    `rootdn "${ROOT_DN}"`,
    `rootpw ${ROOT_PASSWORD}`,
    `directory ${at('data')}`,
    // No data has to survive a crash of the machine.
    'dbnosync',
    `index objectClass,entryUUID,entryCSN,uid,cn,member eq`,
    `limits ${limits}`,
    ...acl,
    ...providers.map(replicationOf),
    ...(multiProvider ? ['multiprovider on'] : []),
    ...(syncprov ? ['overlay syncprov', 'syncprov-checkpoint 100 10', 'syncprov-sessionlog 10000'] : []),
    ...(refint ? ['overlay refint', 'refint_attributes member owner groupAdmin manager'] : []),
    ...(dynlist
      ? ['overlay dynlist', 'dynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames']
      : []),
    '',
  ];
}

/** The configuration with which a server replicates another one. */
function replicationOf(url, index) {
  const account = `bindmethod=simple binddn="${ROOT_DN}" credentials=${ROOT_PASSWORD}`;
  const mode = 'type=refreshAndPersist retry="1 +" keepalive=1:5:1 timeout=5 network-timeout=5';
  return `syncrepl rid=00${index + 1} provider=${url} ${account} searchbase="${SUFFIX}" ${mode}`;
}

/** The input of slapadd: no version, and parents before children. */
function completeLdif(ldif) {
  const content = ldif.replace(/^version: 1\n+/, '');
  const dns = new Set(dnsOf(content));
  const missing = FRAME.filter(([dn]) => !dns.has(dn)).map(([dn, lines]) =>
    [`dn: ${dn}`, ...lines, ''].join('\n'),
  );
  return [...missing, content].join('\n');
}

function dnsOf(ldif) {
  return [...ldif.matchAll(/^dn:(:?) *(.*)$/gm)].map(([, isEncoded, dn]) => decode(isEncoded, dn));
}

function decode(isEncoded, value) {
  return isEncoded === '' ? value : Buffer.from(value, 'base64').toString('utf8');
}

/** An authority, and the certificate of the server: see slapd.d.mts. */
export async function makeCertificates(directory, names = 'DNS:localhost,IP:127.0.0.1') {
  const openssl = (args) => execute(findProgram('openssl'), args.split(' '), { cwd: directory });
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  writeFileSync(join(directory, 'server.ext'), `subjectAltName=${names}\n`);
  await openssl(`req -x509 ${newKey} -days 2 -subj /CN=Test -keyout ca.key -out ca.pem`);
  await openssl(`req ${newKey} -subj /CN=localhost -keyout server.key -out server.csr`);
  const signing = '-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext';
  await openssl(`x509 -req -in server.csr ${signing} -out server.pem`);
}
