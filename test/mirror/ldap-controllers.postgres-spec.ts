import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, readConfig } from '../../src/config/config.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { readStatus } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import { AD_SUFFIX, TestSamba, unicodePassword } from '../support/servers/samba.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const PEOPLE = `OU=People,${AD_SUFFIX}`;
const GROUPS = `OU=Groups,${AD_SUFFIX}`;
const ACCOUNT = { dn: `CN=mirror,CN=Users,${AD_SUFFIX}`, password: 'Read-only-1' };
const CLUB = `CN=club,${GROUPS}`;

const personDn = (id: string) => `CN=${id},${PEOPLE}`;
const add = (dn: string, ...lines: string[]) => `dn: ${dn}\nchangetype: add\n${lines.join('\n')}\n`;
const person = (id: string, ...lines: string[]) =>
  add(
    personDn(id),
    ...['objectClass: user', `sAMAccountName: ${id}`],
    ...(lines.length === 0 ? ['userAccountControl: 544'] : lines),
  );
const remove = (id: string) => `dn: ${personDn(id)}\nchangetype: delete\n`;
const rename = (id: string, name: string) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: displayName\ndisplayName: ${name}\n`;
const joinClub = (id: string) => `dn: ${CLUB}\nchangetype: modify\nadd: member\nmember: ${personDn(id)}\n`;

describe('two domain controllers', () => {
  let first: TestSamba;
  let second: TestSamba;
  let service: TestService;
  let environment: Environment;

  async function change(server: TestSamba, ...records: string[]): Promise<void> {
    const { code, stderr } = await server.modify(records.join('\n'));
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
  }

  beforeAll(async () => {
    [first, second] = await Promise.all([TestSamba.start(), TestSamba.start()]);
    await change(
      first,
      add(
        ACCOUNT.dn,
        'objectClass: user',
        'sAMAccountName: mirror',
        'userAccountControl: 512',
        unicodePassword(ACCOUNT.password),
      ),
      ...[PEOPLE, GROUPS].map((dn) => add(dn, 'objectClass: organizationalUnit')),
      ...['anna', 'ben', 'cleo'].map((id) => person(id)),
      person('disabled', 'userAccountControl: 546', 'givenName: Dis', 'sn: Abled', 'mail: dis@example.org'),
      add(
        CLUB,
        'objectClass: group',
        'sAMAccountName: club',
        `member: ${personDn('anna')}`,
        `managedBy: ${personDn('ben')}`,
      ),
    );
    await second.replicateFrom(first);
    const authorities = join(variable('TEST_WORK_DIRECTORY'), 'controllers-ca.pem');
    writeFileSync(authorities, Buffer.concat([first.ca, second.ca]));
    environment = {
      DIRECTORY_URL: `ldaps://${first.host} ldaps://${second.host}`,
      DIRECTORY_CA_FILE: authorities,
      DIRECTORY_BASE_DN: AD_SUFFIX,
      DIRECTORY_BIND_DN: ACCOUNT.dn,
      DIRECTORY_BIND_PASSWORD: ACCOUNT.password,
      // The guard does not hold what a server lacks.
      DIRECTORY_GUARD_PERCENT: '100',
      ...modelSetting('server: active-directory\nusers: {base: OU=People}\ngroups: {base: OU=Groups}\n'),
    };
    service = await TestService.start({ environment });
  });

  afterAll(async () => {
    await service.stop();
    await Promise.all([first.remove(), second.remove()]);
  });

  async function check(): Promise<string[]> {
    const { directory } = readConfig(environment);
    if (directory.source.kind === 'file') throw new Error('It is a file');
    const findings = await checkDirectory(directory, directory.source, new AbortController().signal);
    return findings.flatMap(({ what, text }) => (what === 'directory servers' ? [text ?? ''] : []));
  }

  it('are read with the attributes of the preset', async () => {
    const query = '{ user(user: {id: "disabled"}) { id name givenName familyName email active } }';
    const authorization = await service.serviceAccount('read', 'directory');
    expect((await service.query(query, { authorization })).data).toEqual({
      user: {
        id: 'disabled',
        name: 'disabled',
        givenName: 'Dis',
        familyName: 'Abled',
        email: 'dis@example.org',
        active: false,
      },
    });
    expect(await readMembers(service, 'club')).toEqual(['anna MEMBER', 'ben OWNER']);
  });

  it('are compared by a check, which says that it is not known whether they lag', async () => {
    expect(await check()).toEqual([
      `ldaps://${second.host} has the same 5 users and groups as ldaps://${first.host}`,
      ...[first, second].map(
        ({ host }) =>
          `ldaps://${host} does not show which changes of the others it has: it is not known whether it lags`,
      ),
    ]);
  });

  it('are followed one after the other: the mirror equals the one in use', async () => {
    await change(first, person('dora'), joinClub('dora'), rename('anna', 'Anna Berg'), remove('cleo'));
    await eventually(async () => (await readNames(service))['anna'], 'Anna Berg');
    await eventually(() => readMembers(service, 'club'), ['anna MEMBER', 'ben OWNER', 'dora MEMBER']);
    await eventually(() => readIds(service), ['anna', 'ben', 'disabled', 'dora']);
    const [difference] = await check();
    expect(difference).toContain(`ldaps://${second.host} has other content than ldaps://${first.host}`);
    await first.stop();
    await eventually(() => readIds(service), ['anna', 'ben', 'cleo', 'disabled']);
    await second.replicateFrom(first);
    await first.stop();
    await eventually(() => readIds(service), ['anna', 'ben', 'disabled', 'dora']);
    await change(second, person('emil'), rename('anna', 'Anna'));
    await eventually(() => readIds(service), ['anna', 'ben', 'disabled', 'dora', 'emil']);
    await eventually(async () => (await readNames(service))['anna'], 'Anna');
  });

  it('follow each other, whose changes the next one has', async () => {
    await change(second, remove('emil'), person('fred'));
    await eventually(() => readIds(service), ['anna', 'ben', 'disabled', 'dora', 'fred']);
    await first.replicateFrom(second);
    await change(first, person('gina'));
    await second.stop();
    await eventually(() => readIds(service), ['anna', 'ben', 'disabled', 'dora', 'fred', 'gina']);
    await eventually(async () => (await readStatus(service)).state, 'IDLE');
  });
});
