import { LockingRejectionError } from '../../src/ldap/client/ldap-error.js';
import { LdapConnection, readOne } from '../../src/ldap/client/ldap-connection.js';
import { LdapResultError } from '../../src/ldap/client/ldap-error.js';
import type { Entry } from '../../src/ldap/entry.js';
import { identityValues, uuidOfEntry } from '../../src/ldap/naming/identifiers.js';
import { readEntries } from '../support/builders/read-entries.js';
import { errorOf } from '../support/error-of.js';
import { AD_SUFFIX, TestSamba, unicodePassword } from '../support/servers/samba.js';

const PEOPLE = `OU=People,${AD_SUFFIX}`;
const GROUPS = `OU=Groups,${AD_SUFFIX}`;
const ACCOUNT = { bindDn: `CN=mirror,CN=Users,${AD_SUFFIX}`, bindPassword: 'Read-only-1' };
const PUPILS = 25;
const PHOTO = Buffer.from(Array.from({ length: 2000 }, (_, index) => (index * 31) & 0xff));

/** Flags of userAccountControl ([MS-ADTS] 2.2.16). */
const ENABLED = 0x220;
const DISABLED = 0x222;

const person = (id: string, name: string, ...lines: string[]) =>
  [
    `dn: CN=${name},${PEOPLE}`,
    'changetype: add',
    'objectClass: user',
    `sAMAccountName: ${id}`,
    `displayName: ${name}`,
    `mail: ${id}@example.org`,
    ...lines,
    '',
  ].join('\n');
const group = (name: string, members: readonly string[], ...lines: string[]) =>
  [
    `dn: CN=${name},${GROUPS}`,
    'changetype: add',
    'objectClass: group',
    `sAMAccountName: ${name}`,
    ...members.map((dn) => `member: ${dn}`),
    ...lines,
    '',
  ].join('\n');
const personDn = (name: string) => `CN=${name},${PEOPLE}`;
const groupDn = (name: string) => `CN=${name},${GROUPS}`;
const pupils = Array.from({ length: PUPILS }, (_, index) => `Pupil ${index}`);

const CONTENT = [
  ...[PEOPLE, GROUPS].map((dn) => `dn: ${dn}\nchangetype: add\nobjectClass: organizationalUnit\n`),
  [
    `dn: ${ACCOUNT.bindDn}`,
    'changetype: add',
    'objectClass: user',
    'sAMAccountName: mirror',
    'userAccountControl: 512',
    unicodePassword(ACCOUNT.bindPassword),
    '',
  ].join('\n'),
  person('ann', 'Ann', `userAccountControl: ${ENABLED}`, `thumbnailPhoto:: ${PHOTO.toString('base64')}`),
  person('ben', 'Ben', `userAccountControl: ${DISABLED}`),
  ...pupils.map((name, index) => person(`p${index}`, name, `userAccountControl: ${ENABLED}`)),
  group('choir', [personDn('Ann'), personDn('Ben')], 'description: Sings.'),
  group('school', [groupDn('choir'), ...pupils.map(personDn)], `managedBy: ${personDn('Ann')}`),
  group('staff', [personDn('Ann')]),
].join('\n');

let samba: TestSamba;
let connection: LdapConnection;

beforeAll(async () => {
  samba = await TestSamba.start();
  await change(CONTENT);
  connection = await connect({ tls: 'ldaps', port: 636 });
});

afterAll(async () => {
  connection.close();
  await samba.remove();
});

async function change(ldif: string): Promise<void> {
  const { code, stderr } = await samba.modify(ldif);
  if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
}

function connect(options: { tls: 'none' | 'starttls' | 'ldaps'; port: number }): Promise<LdapConnection> {
  return LdapConnection.connect({ host: samba.host, ca: samba.ca, ...ACCOUNT, ...options });
}

async function read(dn: string, ...attributes: string[]): Promise<Entry> {
  const entry = await readOne(connection, dn, attributes.length === 0 ? ['*'] : attributes);
  if (entry === null) throw new Error(`${dn} does not exist`);
  return entry;
}

const dnsOf = (entries: readonly Entry[]) => entries.map(({ dn }) => dn).sort();

describe('Samba as a domain controller', () => {
  it('requires TLS for a bind with a password', async () => {
    const error = await errorOf(connect({ tls: 'none', port: 389 }));
    expect(error).toBeInstanceOf(LdapResultError);
    expect(error).toMatchObject({
      code: 8,
      codeName: 'strongerAuthRequired',
      message: expect.stringContaining('It accepts passwords only with TLS (StartTLS or ldaps)') as string,
    });
  });

  it('names the cause for which it rejects a password', async () => {
    const wrong = {
      host: samba.host,
      ca: samba.ca,
      tls: 'ldaps',
      port: 636,
      ...ACCOUNT,
      bindPassword: 'no',
    } as const;
    const error = await errorOf(LdapConnection.connect(wrong));
    expect(error).toBeInstanceOf(LockingRejectionError);
    expect(error.message).toMatch(/invalidCredentials \(49\)\. The account or its password is wrong$/);
  });

  it('has identifiers in the order that Microsoft shows', async () => {
    const ann = await read(personDn('Ann'));
    const uuid = uuidOfEntry(ann, 'objectGUID') ?? '';
    // The server itself parses the text of this form of a DN ([MS-ADTS] 3.1.1.3.1.2.4).
    expect((await read(`<GUID=${uuid}>`)).dn).toBe(personDn('Ann'));
    const value = identityValues(uuid, 'objectGUID')[0]?.toString('hex').replace(/../g, '\\$&');
    expect(dnsOf(await readEntries(connection, PEOPLE, `(objectGUID=${value})`))).toEqual([personDn('Ann')]);
  });

  it('sends the rest of a range of members', async () => {
    const [school] = await readEntries(connection, GROUPS, '(cn=school)', ['member;range=0-9']);
    expect(school?.text('member').sort()).toEqual([groupDn('choir'), ...pupils.map(personDn)].sort());
  });

  it('selects the members of nested groups by a chain', async () => {
    const filter = `(&(objectClass=user)(memberOf:1.2.840.113556.1.4.1941:=${groupDn('school')}))`;
    const members = [...pupils, 'Ann', 'Ben'].map(personDn).sort();
    expect(dnsOf(await readEntries(connection, PEOPLE, filter))).toEqual(members);
  });
});
