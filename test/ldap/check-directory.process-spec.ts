import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { type Environment, readConfig } from '../../src/config/config.js';
import { fixFor } from '../../src/commands/remedies.js';
import type { Finding } from '../../src/common/finding.js';
import { checkDirectory } from '../../src/mirror/check/check-directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { buildLdif } from '../support/builders/directory.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  type SlapdOptions,
  startSlapd,
  SUFFIX,
  type TestSlapd,
} from '../support/servers/slapd.mjs';

const PEOPLE = ['anna', 'ben', 'cleo', 'dan', 'eve'].map((id) => ({ id }));
const GROUPS = [
  { id: 'club', members: ['anna'], owners: ['cleo'] },
  { id: 'team', members: ['ben', '@club'], admins: ['dan'] },
];
/** The default configuration of the server. */
const SOUND: SlapdOptions = { syncprov: true, tls: true, limits: `dn.exact="${MIRROR_DN}" size=unlimited` };

describe('diagnostics of a directory server', () => {
  let slapd: TestSlapd;

  beforeAll(async () => {
    slapd = await startSlapd({ ...SOUND, ldif: buildLdif(PEOPLE, GROUPS) });
  });

  afterAll(() => slapd.remove());

  /** The findings, one per line. */
  async function examine(settings: Environment = {}): Promise<string[]> {
    const findings = await find(settings);
    return findings.map(({ what, result, text }) => `${result} ${what}: ${text ?? ''}`);
  }

  /** The remedies of the problems. */
  async function findFixes(settings: Environment): Promise<(string | null)[]> {
    return (await find(settings)).filter(({ result }) => result === 'problem').map(fixFor);
  }

  async function find(settings: Environment): Promise<Finding[]> {
    const { directory } = readConfig({
      DIRECTORY_URL: slapd.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: MIRROR_DN,
      DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
      ...settings,
    });
    if (directory.source.kind === 'file') throw new Error('It is a file');
    return checkDirectory(directory, directory.source, new AbortController().signal);
  }

  it('report its content, and how changes are detected', async () => {
    expect(await examine()).toEqual([
      `ok directory server: ${slapd.url}, not encrypted, OpenLDAP`,
      `ok directory account: ${MIRROR_DN}`,
      'ok directory bases: all of them exist',
      `ok people: 5 below ou=people,${SUFFIX}`,
      `ok groups: 2 below ou=groups,${SUFFIX}`,
      'ok members: member in 2 groups, groupAdmin in 1 group, owner in 1 group',
      'ok changes: the server pushes them (RFC 4533)',
    ]);
  });

  it('report the mode that the model chooses', async () => {
    const changesWith = async (follow: string, more = '') =>
      (await examine(modelSetting(`follow: ${follow}\n${more}\n`))).filter((line) =>
        line.includes('changes:'),
      );
    expect(await changesWith('push')).toEqual(['ok changes: the server pushes them (RFC 4533)']);
    expect(await changesWith('push', 'uuid: nsUniqueId')).toEqual([
      expect.stringContaining('Pushed changes are not identified by nsUniqueId'),
    ]);
    expect(await changesWith('poll')).toEqual([
      'ok changes: asked for every 30 s. The model sets follow: poll',
    ]);
  });

  it('report how the connection is secured', async () => {
    const ca = join(slapd.directory, 'trusted.pem');
    writeFileSync(ca, slapd.ca);
    expect(await examine({ DIRECTORY_STARTTLS: 'true', DIRECTORY_CA_FILE: ca })).toContain(
      `ok directory server: ${slapd.url}, encrypted by StartTLS, OpenLDAP`,
    );
    const ldaps = `ldaps://127.0.0.1:${slapd.tlsPort}`;
    expect(await examine({ DIRECTORY_URL: ldaps, DIRECTORY_CA_FILE: ca })).toContain(
      `ok directory server: ${ldaps}, encrypted (ldaps), OpenLDAP`,
    );
    expect(await examine({ DIRECTORY_URL: ldaps })).toEqual([
      expect.stringMatching(
        /^problem directory server: ldaps:\S+ No TLS with 127\.0\.0\.1: its certificate was not/,
      ),
    ]);
  });

  it('distinguish an unreachable server from a rejected account', async () => {
    const url = `ldap://127.0.0.1:${await findFreePort()}`;
    expect(await examine({ DIRECTORY_URL: url })).toEqual([
      `problem directory server: ${url}: No connection to ${url.slice(7)}: ECONNREFUSED`,
    ]);
    expect(await examine({ DIRECTORY_BIND_PASSWORD: 'wrong' })).toEqual([
      `problem directory account: The directory server rejects the bind of ${MIRROR_DN}: invalidCredentials (49)`,
    ]);
  });

  it('have a remedy for each cause of a failed connection', async () => {
    const ca = join(slapd.directory, 'trusted.pem');
    writeFileSync(ca, slapd.ca);
    const secured = { DIRECTORY_STARTTLS: 'true', DIRECTORY_CA_FILE: ca };
    const fixOf = async (settings: Environment) => (await findFixes(settings)).join();
    expect(await fixOf({ DIRECTORY_URL: 'ldap://directory.invalid' })).toMatch(/host name in DIRECTORY_URL/);
    expect(await fixOf({ DIRECTORY_URL: `ldap://127.0.0.1:${await findFreePort()}` })).toMatch(
      /^Start the directory server, or correct the port/,
    );
    const plain = slapd.url.replace('ldap:', 'ldaps:');
    expect(await fixOf({ DIRECTORY_URL: plain })).toMatch(/^The port may be for LDAP without TLS/);
    const withTls = `ldap://127.0.0.1:${slapd.tlsPort}`;
    expect(await fixOf({ DIRECTORY_URL: withTls })).toMatch(/^The port may be for ldaps/);
    expect(await fixOf({ ...secured, DIRECTORY_URL: withTls })).toMatch(/^The port may be for ldaps/);
    expect(await fixOf({ DIRECTORY_STARTTLS: 'true' })).toMatch(/^Set DIRECTORY_CA_FILE/);
    expect(await fixOf({ DIRECTORY_BIND_PASSWORD: 'wrong' })).toMatch(/^Correct DIRECTORY_BIND_DN or/);
    await slapd.restart({ tls: false });
    const refused = await fixOf(secured);
    await slapd.restart(SOUND);
    expect(refused).toMatch(/^Give the server a certificate/);
  });

  it('have a remedy for missing rights, and for an exceeded limit', async () => {
    await slapd.restart({ limits: `dn.exact="${MIRROR_DN}" size=3` });
    const limited = await findFixes({});
    await slapd.restart({
      ...SOUND,
      acl: ['access to attrs=entryUUID by * none', `access to * by dn.exact="${MIRROR_DN}" read by * auth`],
    });
    const hidden = await findFixes({});
    await slapd.restart({
      ...SOUND,
      acl: [
        `access to dn.children="ou=people,${SUFFIX}" by dn.exact="${MIRROR_DN}" auth by * auth`,
        `access to * by dn.exact="${MIRROR_DN}" read by * auth`,
      ],
    });
    const hiddenPeople = await findFixes({});
    await slapd.restart({ ...SOUND, acl: undefined });
    expect(limited).toEqual([expect.stringMatching(/^Set the limit of the account as the message says/)]);
    expect([...new Set(hidden)]).toEqual([expect.stringMatching(/^Let the account read them/)]);
    expect(hiddenPeople).toEqual([expect.stringMatching(/^Choose them by.* If they exist, let the account/)]);
    const noBase = await findFixes(modelSetting('groups: {base: ou=clubs}'));
    expect(noBase).toEqual([
      expect.stringMatching(/^Set DIRECTORY_BASE_DN.* If they exist, let the account/),
    ]);
  });

  it('report a missing base, and check the rest', async () => {
    const found = await examine(modelSetting('groups: {base: ou=clubs}'));
    expect(found).toContain(
      `problem directory bases: ou=clubs,${SUFFIX}: The directory server answered noSuchObject (32): it does not exist, or the account may not read it`,
    );
    expect(found).toContain(`ok people: 5 below ou=people,${SUFFIX}`);
    expect(await examine(modelSetting('users: {filter: (uid=nobody)}'))).toContain(
      `problem users: none below ou=people,${SUFFIX} that the account sees and that (uid=nobody) chooses`,
    );
  });

  it('compare the content of all servers', async () => {
    const compared = async (server: TestSlapd) =>
      (await examine({ DIRECTORY_URL: `${slapd.url} ${server.url}` })).filter((line) =>
        line.includes('directory servers'),
      );
    const people = [...PEOPLE, { id: 'fred' }];
    const others = await Promise.all([
      startSlapd({ ...SOUND, tls: false, empty: true }),
      startSlapd({ ldif: buildLdif(people) }),
    ]);
    const [copy, stranger] = others;
    try {
      await copy.stop();
      await copy.restore(await slapd.dump());
      await copy.start();
      expect(await compared(copy)).toEqual([
        `ok directory servers: ${copy.url} has the same 7 users and groups as ${slapd.url}`,
      ]);
      await slapd.modify(
        `dn: uid=late,ou=people,${SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\ncn: late\nsn: late\n`,
      );
      expect(await compared(copy)).toEqual([
        `warning directory servers: ${copy.url} lags behind ${slapd.url} by its contextCSN. 1 users and groups of ${slapd.url} are missing there, and 0 are only there`,
      ]);
      await slapd.modify(`dn: uid=late,ou=people,${SUFFIX}\nchangetype: delete\n`);
      expect(await compared(stranger)).toEqual([
        `problem directory servers: ${stranger.url} has another directory than ${slapd.url}: ${SUFFIX} has another identity. 7 users and groups of ${slapd.url} are missing there, and 6 are only there`,
      ]);
    } finally {
      await Promise.all(others.map((each) => each.remove()));
    }
  });

  it('counts the values of the fields of the model, and what each rule hides', async () => {
    const model = `
users:
  fields:
    email: mial
    familyName: [sn]
    givenName: [givenName, cn]
    surname: {attribute: sn, type: String, description: The surname.}
    desk: {attribute: roomNumber, type: Int, description: The number of the desk.}
visibility:
  users: [{where: (uid=nemo), to: self}, {where: (uid=*), to: groupAdmins}]
`;
    const found = await examine(modelSetting(model));
    expect(found.filter((line) => line.includes(' fields: '))).toEqual([
      'ok fields: User.givenName: givenName or cn in 5 of 5 entries',
      'warning fields: User.email: mial in 0 of 5 entries',
      'ok fields: User.surname: sn in 5 of 5 entries',
      'warning fields: User.desk: roomNumber in 0 of 5 entries',
    ]);
    expect(found).toEqual(
      expect.arrayContaining([
        'ok visibility: (uid=nemo) hides 0 users from others than self',
        'ok visibility: (uid=*) hides 5 users from others than groupAdmins',
      ]),
    );
  });

  it('warn of attributes that filters of the model read, and no entry has', async () => {
    const check = async (model: string) =>
      (await examine(modelSetting(model))).filter((line) => line.includes(' filters: '));
    const reasons = 'it is misspelled, hidden from the account, or an OID or another name of an attribute';
    const model = `
users: {disabled: (|(uid=nemo)(2.5.4.4=nemo))}
visibility:
  users: [{where: (&(uid=*)(!(surname=*))), to: self}]
  groups: [{where: (|(cn=x)(busynessCategory=secret)), to: members}]
  members: [{where: (o:dn:=x), to: members}]
`;
    expect(await check(model)).toEqual([
      `warning filters: visibility.users reads surname, which is in 0 of 5 entries: ${reasons}`,
      `warning filters: users.disabled reads 2.5.4.4, which is in 0 of 5 entries: ${reasons}`,
      `warning filters: visibility.groups reads busynessCategory, which is in 0 of 2 entries: ${reasons}`,
    ]);
    expect(
      await check('users: {disabled: (sn=nemo)}\nvisibility: {users: [{where: (SN=x), to: self}]}'),
    ).toEqual([]);
    // No user is locked: the filter of the preset is right.
    expect(await check('server: 389ds')).toEqual([]);
  });

  it('warn of groups with rules inside of groups without, where everyone finds their members', async () => {
    const checkRules = async (rules: string) =>
      (await examine(modelSetting(`visibility: {${rules}}`))).filter((line) => line.startsWith('warning'));
    const warning =
      'warning visibility: Outer groups without a rule show the members of 1 group that rules hide, or whose members they hide: give the outer groups a rule, too';
    expect(await checkRules('members: [{where: (cn=club), to: members}]')).toEqual([warning]);
    expect(await checkRules('groups: [{where: (cn=club), to: admins}]')).toEqual([warning]);
    expect(await checkRules('groups: [{where: (cn=team), to: admins}]')).toEqual([]);
    expect(await checkRules('members: [{where: (cn=*), to: members}]')).toEqual([]);
    expect(await checkRules('users: [{where: (uid=*), to: self}]')).toEqual([]);
  });

  it.each([
    ['changes are pushed', true],
    ['changes are polled', false],
  ])('contain the lines of slapd.conf for a limited account, with %s', async (_, syncprov) => {
    await slapd.restart({ syncprov, limits: `dn.exact="${MIRROR_DN}" size=3` });
    const found = await examine();
    await slapd.restart(SOUND);
    expect(found.filter((line) => line.startsWith('problem'))).toEqual([
      expect.stringMatching(
        /^problem users: 3 were read, and then: .* limits dn\.exact="cn=mirror,dc=example,dc=org" size=unlimited /,
      ),
    ]);
    expect(found).toContain(`ok groups: 2 below ou=groups,${SUFFIX}`);
  });

  it('report why changes have to be polled', async () => {
    expect(await examine(modelSetting('uuid: entryDN'))).toContain(
      'ok changes: asked for every 30 s. Pushed changes are identified by entryUUID, but the key uuid of the model is entryDN',
    );
    await slapd.restart({ syncprov: false });
    const found = await examine();
    await slapd.restart(SOUND);
    expect(found.at(-1)).toBe(
      'ok changes: asked for every 30 s. The server does not push changes (RFC 4533; OpenLDAP does with the overlay syncprov)',
    );
  });

  it('report the attributes that are hidden from the account', async () => {
    const read = `by dn.exact="${MIRROR_DN}" read by anonymous auth by * none`;
    const hidden = ['entryUUID', 'modifyTimestamp', 'member', 'groupAdmin', 'owner'];
    await slapd.restart({
      syncprov: false,
      acl: [`access to attrs=${hidden.join(',')} by * none`, `access to * ${read}`],
    });
    const found = await examine(modelSetting('users: {id: employeeNumber}'));
    await slapd.restart({ ...SOUND, acl: undefined });
    expect(found.slice(3)).toEqual([
      `ok people: 5 below ou=people,${SUFFIX}`,
      'problem users: entryUUID is missing, or the account may not read it, in 5 of 5 entries',
      'problem users: all 5 entries would be quarantined: an entry has no usable employeeNumber, which is its id (5). Set users.id to an attribute that each entry has',
      `ok groups: 2 below ou=groups,${SUFFIX}`,
      'problem groups: entryUUID is missing, or the account may not read it, in 2 of 2 entries',
      'problem members: member in 0 groups, groupAdmin in 0 groups, owner in 0 groups: they are hidden from the account, or called otherwise',
      expect.stringMatching(
        /^warning changes: .* The account sees no modifyTimestamp in 7 of 7 entries: only a scan finds their changes$/,
      ),
    ]);
  });
});
