import { buildLdif, personDn } from '../support/builders/directory.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { sendQuery } from '../support/clients/graphql.js';
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

const add = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;
const person = (id: string) => add(personDn(id), 'objectClass: inetOrgPerson', `cn: ${id}`, `sn: ${id}`);

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
  person('ann'),
  person('ben'),
].join('\n');

let server: TestDirectory389;

beforeAll(async () => {
  server = await TestDirectory389.start();
  await change(CONTENT);
  await change(`dn: ${personDn('ben')}\nchangetype: modify\nadd: nsAccountLock\nnsAccountLock: TRUE\n`);
});

afterAll(() => server.remove());

async function change(ldif: string): Promise<void> {
  const { code, stderr } = await server.modify(ldif);
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

describe('389 Directory Server', () => {
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
