// How soon single changes are visible with each kind of server: the table of docs/ldap.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase } from './directory.mjs';
import { report, Service } from './service.mjs';

const PEOPLE = 200;
const CHANGES = 60;
/** A poll reads everything: fewer changes. */
const POLLED_CHANGES = 20;
const POLL_SECONDS = 2;

/**
 * A directory that changes: the settings of a service, how to change the name of a user, and how to stop it.
 * @typedef {{ settings: object, rename(number: number, name: string): Promise<void>, stop(): Promise<void>, changes?: number }} Running
 */

const nameOf = (number) => `person.${number}`;

async function apply(server, records) {
  const { code, stderr } = await server.modify(records.join('\n'));
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

const renameRecord = (dn, name) =>
  `dn: ${dn}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const containers = (...dns) =>
  dns.map((dn) => `dn: ${dn}\nchangetype: add\nobjectClass: organizationalUnit\n`);
const numbers = Array.from({ length: PEOPLE }, (_, number) => number);

/** Standard entries, as OpenLDAP and 389 Directory Server have them. */
function standard(support) {
  const { personDn } = support.directory;
  const person = (number) =>
    `dn: ${personDn(nameOf(number))}\nchangetype: add\nobjectClass: inetOrgPerson\nuid: ${nameOf(number)}\ncn: ${number}\nsn: ${number}\n`;
  return { personDn: (number) => personDn(nameOf(number)), people: () => numbers.map(person) };
}

/** @returns {Promise<Running>} */
async function startOpenldap(support) {
  const { personDn, people } = standard(support);
  const server = await support.slapd.startSlapd({});
  await apply(server, people());
  return {
    settings: support.ldap.directorySettings(server),
    rename: (number, name) => apply(server, [renameRecord(personDn(number), name)]),
    stop: () => server.remove(),
  };
}

/** Two providers behind one address, which are changed in turn. @returns {Promise<Running>} */
async function startBalanced(support) {
  const { personDn, people } = standard(support);
  const role = (serverId) => ({ serverId, isProvider: true, syncprov: true });
  const replicated = await support.replicated.ReplicatedSlapd.start([role(1), role(2)], {});
  await replicated.change(0, ...people());
  await replicated.converge();
  const balancer = await support.balancer.TcpBalancer.start(...replicated.servers.map(({ port }) => port));
  return {
    settings: { ...support.ldap.directorySettings(replicated.at(0)), DIRECTORY_URL: balancer.url },
    rename: (number, name) => replicated.change(number % 2, renameRecord(personDn(number), name)),
    stop: async () => {
      await balancer.stop();
      await replicated.stop();
    },
  };
}

function withAuthority(server, settings) {
  const file = join(process.env.TEST_WORK_DIRECTORY, 'authority.pem');
  writeFileSync(file, server.ca);
  return { ...settings, DIRECTORY_CA_FILE: file };
}

/** @returns {Promise<Running>} */
async function start389(support) {
  const { personDn, people } = standard(support);
  const { SUFFIX } = support.slapd;
  const server = await support.directory389.TestDirectory389.start();
  await apply(server, [
    ...containers(`ou=people,${SUFFIX}`, `ou=groups,${SUFFIX}`),
    support.documented.documentedRecords('389 Directory Server'),
    ...people(),
  ]);
  return {
    settings: withAuthority(server, {
      DIRECTORY_URL: `ldaps://127.0.0.1:${server.tlsPort}`,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: `cn=mirror,${SUFFIX}`,
      DIRECTORY_BIND_PASSWORD: 'mirror-secret',
    }),
    rename: (number, name) => apply(server, [renameRecord(personDn(number), name)]),
    stop: () => server.remove(),
  };
}

/** @returns {Promise<Running>} */
async function startSamba(support) {
  const { AD_SUFFIX, TestSamba } = support.samba;
  const people = `OU=People,${AD_SUFFIX}`;
  const personDn = (number) => `CN=${nameOf(number)},${people}`;
  const person = (number) =>
    `dn: ${personDn(number)}\nchangetype: add\nobjectClass: user\nsAMAccountName: ${nameOf(number)}\nuserAccountControl: 544\n`;
  const server = await TestSamba.start();
  await apply(server, [
    ...containers(people),
    support.documented.documentedRecords('Samba and Active Directory'),
    ...numbers.map(person),
  ]);
  return {
    settings: withAuthority(server, {
      DIRECTORY_URL: `ldaps://${server.host}`,
      DIRECTORY_BASE_DN: AD_SUFFIX,
      DIRECTORY_BIND_DN: `CN=mirror,CN=Users,${AD_SUFFIX}`,
      DIRECTORY_BIND_PASSWORD: 'Read-only-1',
    }),
    rename: (number, name) => apply(server, [renameRecord(personDn(number), name)]),
    stop: () => server.remove(),
  };
}

/** The emulator of servers that show no changes. @returns {Promise<Running>} */
async function startPolled(support) {
  const { personDn } = standard(support);
  const { makeCertificates, SUFFIX } = support.slapd;
  const directory = process.env.TEST_WORK_DIRECTORY;
  await makeCertificates(directory);
  const [key, cert, ca] = ['server.key', 'server.pem', 'ca.pem'].map((name) => join(directory, name));
  const root = { vendorName: ['LLDAP'], namingContexts: [SUFFIX] };
  const read = support.readFileSync;
  const server = await support.polled.PolledServer.start(
    { key: read(key), cert: read(cert), ca: read(ca) },
    root,
  );
  const put = (number, name) =>
    server.entries.set(personDn(number), {
      objectClass: ['person'],
      uid: [nameOf(number)],
      cn: [name],
      entryUUID: [`00000000-0000-4000-8000-${String(number).padStart(12, '0')}`],
    });
  server.entries.set(SUFFIX, { objectClass: ['dcObject'] });
  for (const name of ['people', 'groups'])
    server.entries.set(`ou=${name},${SUFFIX}`, { objectClass: ['organizationalUnit'] });
  for (const number of numbers) put(number, `Person ${number}`);
  return {
    settings: {
      DIRECTORY_URL: server.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_CA_FILE: ca,
      DIRECTORY_CERT_FILE: cert,
      DIRECTORY_KEY_FILE: key,
      DIRECTORY_BIND_DN: personDn(0),
      DIRECTORY_BIND_PASSWORD: 'secret',
      DIRECTORY_SYNC_SECONDS: String(POLL_SECONDS),
      ...support.model.modelSetting('server: lldap\nusers: {name: cn}\n'),
    },
    rename: async (number, name) => void put(number, name),
    stop: () => server.stop(),
    changes: POLLED_CHANGES,
  };
}

const KINDS = {
  OpenLDAP: startOpenldap,
  'OpenLDAP, two providers behind a balancer': startBalanced,
  '389 Directory Server': start389,
  'Samba as a domain controller': startSamba,
  [`A server that is polled every ${POLL_SECONDS} seconds`]: startPolled,
};

/** The servers of the tests, which are TypeScript. */
async function loadSupport() {
  const from = (path) => import(`../../test/${path}`);
  const { readFileSync } = await import('node:fs');
  globalThis.STORE = 'postgres';
  return {
    readFileSync,
    balancer: await from('support/servers/tcp-balancer.ts'),
    directory: await from('support/builders/directory.ts'),
    directory389: await from('support/servers/directory-389.ts'),
    documented: await from('ldap/behaviors/documented-records.ts'),
    ldap: await from('support/servers/ldap.ts'),
    model: await from('support/builders/model-file.ts'),
    polled: await from('support/servers/polled-server.ts'),
    replicated: await from('support/servers/replicated-slapd.ts'),
    samba: await from('support/servers/samba.ts'),
    slapd: await from('support/servers/slapd.mjs'),
  };
}

async function timeChanges(service, { rename, changes = CHANGES }) {
  const latencies = [];
  for (let turn = 0; turn < changes; turn++) {
    const number = (turn * 7) % PEOPLE;
    const name = `Changed ${turn}`;
    await rename(number, name);
    const query = `{ user(user: {id: "${nameOf(number)}"}) { name } }`;
    latencies.push(await service.until(query, ({ user }) => user?.name === name));
    // Changes come at any time between two requests to the server.
    await sleep(200 + 800 * ((turn * 0.618) % 1));
  }
  return latencies;
}

export async function measureKinds() {
  console.log('');
  for (const [name, start] of Object.entries(KINDS))
    await withDatabase(async ({ directory, environment }) => {
      process.env.TEST_WORK_DIRECTORY = directory;
      const running = await start(await loadSupport());
      const startedAt = performance.now();
      const service = new Service({ ...environment, ...running.settings });
      await service.untilLogged(/Revision \d+ in/);
      await service.account();
      console.log(`${name}: read after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      report('  a changed user is visible', await timeChanges(service, running));
      await service.stop();
      await running.stop();
    });
}
