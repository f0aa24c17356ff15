import { LdapConnection, readOne } from '../../src/ldap/client/ldap-connection.js';
import type { Entry } from '../../src/ldap/entry.js';
import { identityValues, uuidOfEntry } from '../../src/ldap/naming/identifiers.js';
import { buildLdif, groupDn, personDn } from '../support/builders/directory.js';
import { readEntries } from '../support/builders/read-entries.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { sendQuery } from '../support/clients/graphql.js';
import { errorOf } from '../support/error-of.js';
import { eventually } from '../support/eventually.js';
import { TestDirectory389 } from '../support/servers/directory-389.js';
import { directorySettings } from '../support/servers/ldap.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { startSlapd, SUFFIX } from '../support/servers/slapd.mjs';
import { createDatabase } from '../support/servers/store.js';
import { TcpBalancer } from '../support/servers/tcp-balancer.js';

const PEOPLE = `ou=people,${SUFFIX}`;
const GROUPS = `ou=groups,${SUFFIX}`;
const ACCOUNT = { bindDn: `cn=mirror,${SUFFIX}`, bindPassword: 'mirror-secret' };
const PUPILS = Array.from({ length: 25 }, (_, index) => `p${index}`);

const add = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;
const person = (id: string, ...lines: string[]) =>
  add(
    personDn(id),
    'objectClass: inetOrgPerson',
    'objectClass: inetUser',
    `cn: Person ${id}`,
    `sn: ${id}`,
    `mail: ${id}@example.org`,
    ...lines,
  );
const group = (id: string, ...members: string[]) =>
  add(groupDn(id), 'objectClass: groupOfNames', ...members.map((dn) => `member: ${dn}`));

const CONTENT = [
  ...[PEOPLE, GROUPS].map((dn) => add(dn, 'objectClass: organizationalUnit')),
  add(
    ACCOUNT.bindDn,
    'objectClass: applicationProcess',
    'objectClass: simpleSecurityObject',
    `userPassword: ${ACCOUNT.bindPassword}`,
  ),
  `dn: ${SUFFIX}
changetype: modify
add: aci
aci: (targetattr="*")(version 3.0; acl "mirror"; allow (read, search, compare) userdn="ldap:///${ACCOUNT.bindDn}";)
`,
  person('ann', 'objectClass: posixAccount', 'uidNumber: 6', 'gidNumber: 1', 'homeDirectory: /'),
  person('ben'),
  ...PUPILS.map((id) => person(id)),
  group('choir', personDn('ann'), personDn('ben')),
  group('school', groupDn('choir'), ...PUPILS.map(personDn)),
].join('\n');

let server: TestDirectory389;
let connection: LdapConnection;

beforeAll(async () => {
  server = await TestDirectory389.start();
  await change(CONTENT);
  await change(`dn: ${personDn('ben')}\nchangetype: modify\nadd: nsAccountLock\nnsAccountLock: TRUE\n`);
  connection = await connect({ tls: 'ldaps', port: server.tlsPort });
});

afterAll(async () => {
  connection.close();
  await server.remove();
});

async function change(ldif: string): Promise<void> {
  const { code, stderr } = await server.modify(ldif);
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

function connect(options: { tls: 'none' | 'starttls' | 'ldaps'; port: number }): Promise<LdapConnection> {
  return LdapConnection.connect({ host: '127.0.0.1', ca: server.ca, ...ACCOUNT, ...options });
}

async function read(dn: string, ...attributes: string[]): Promise<Entry> {
  const entry = await readOne(connection, dn, ['*', ...attributes]);
  if (entry === null) throw new Error(`${dn} does not exist`);
  return entry;
}

const dnsOf = (entries: readonly Entry[]) => entries.map(({ dn }) => dn).sort();

describe('389 Directory Server', () => {
  it('can require TLS for a bind with a password', async () => {
    const require = (value: string) =>
      change(
        `dn: cn=config\nchangetype: modify\nreplace: nsslapd-require-secure-binds\nnsslapd-require-secure-binds: ${value}\n`,
      );
    await require('on');
    try {
      const error = await errorOf(connect({ tls: 'none', port: server.port }));
      expect(error).toMatchObject({ code: 13, codeName: 'confidentialityRequired' });
      (await connect({ tls: 'starttls', port: server.port })).close();
    } finally {
      await require('off');
    }
  });

  it('has two identifiers, and finds entries by both', async () => {
    const ann = await read(personDn('ann'), 'nsUniqueId', 'entryUUID');
    expect(ann.text('nsUniqueId')[0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{8}){3}$/);
    for (const attribute of ['nsUniqueId', 'entryUUID']) {
      const uuid = uuidOfEntry(ann, attribute) ?? '';
      expect(uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const found = await readEntries(
        connection,
        PEOPLE,
        `(${attribute}=${identityValues(uuid, attribute)[0]?.toString()})`,
      );
      expect([attribute, dnsOf(found)]).toEqual([attribute, [personDn('ann')]]);
    }
  });

  it('that replaces OpenLDAP under one address is served with its own preset, without a restart', async () => {
    const slapd = await startSlapd({ ldif: buildLdif([{ id: 'ann' }, { id: 'ben' }, { id: 'former' }]) });
    const address = await TcpBalancer.start(slapd.port);
    const database = await createDatabase();
    const port = await findFreePort();
    const service = TestProcess.start('main', [], {
      ...directorySettings(slapd),
      DIRECTORY_URL: address.url,
      DIRECTORY_GUARD_PERCENT: '100',
      DATABASE_URL: database.url,
      PORT: String(port),
    });
    try {
      await service.untilPrinted(/Ready at/);
      const account = ['--id', 'reader', '--name', 'Reader', '--scopes', 'read', '--json'];
      const created = await runCommand(['service-account', 'create', ...account], {
        DATABASE_URL: database.url,
      });
      const { token } = JSON.parse(created.stdout) as { token: string };
      // Only the preset of 389 Directory Server has accounts that are not active.
      const query =
        '{ ann: user(user: {id: "ann"}) { active } ben: user(user: {id: "ben"}) { active } former: user(user: {id: "former"}) { id } }';
      const read = async () => {
        const url = `http://127.0.0.1:${port}`;
        const answer = await sendQuery(url, query, { authorization: `Basic ${token}` }).catch(() => null);
        return answer?.data ?? null;
      };
      const active = { active: true };
      expect(await read()).toEqual({ ann: active, ben: active, former: { id: 'former' } });
      address.use(server.port);
      address.breakConnections();
      await service.untilPrinted(/of the kind 389ds: the service starts again[^]*Ready at/);
      await eventually(read, { ann: active, ben: { active: false }, former: null });
      expect(service.code).toBeNull();
    } finally {
      await service.kill('SIGTERM');
      await address.stop();
      await database.drop();
      await slapd.remove();
    }
  });
});
