import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { type Environment, readConfig } from '../../src/config/config.js';
import { fixFor } from '../../src/commands/check.js';
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
      `ok users: 5 below ou=people,${SUFFIX}`,
      `ok groups: 2 below ou=groups,${SUFFIX}`,
      'ok members: member in 2 groups, groupAdmin in 1 group, owner in 1 group',
      'ok changes: the server pushes them (RFC 4533)',
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
});
