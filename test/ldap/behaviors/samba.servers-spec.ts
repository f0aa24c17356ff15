import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DumpedEntry, parseDump } from '../../support/builders/ldap-content.js';
import { eventually } from '../../support/eventually.js';
import { AD_SUFFIX, TestSamba, unicodePassword } from '../../support/servers/samba.js';
import { variable } from '../../support/servers/store.js';
import { OldCopy, readExpected, textOf, type Vocabulary } from './behavior-directory.js';
import { BehaviorService } from './behavior-service.js';
import { describeBehaviors, withoutDeleted } from './behaviors.js';
import { documentedRecords } from './documented-records.js';

const PEOPLE = `OU=People,${AD_SUFFIX}`;
const GROUPS = `OU=Groups,${AD_SUFFIX}`;
const ACCOUNT = `CN=mirror,CN=Users,${AD_SUFFIX}`;
const PASSWORD = 'Read-only-1';
const SECOND = `CN=second,CN=Users,${AD_SUFFIX}`;

/** The last part of the identifier of the primary group of new users ([MS-DTYP] 2.4.2.4). */
const DOMAIN_USERS = 513;
const LISTED = ['Domain Users', 'choir'];

/** Flags of userAccountControl ([MS-ADTS] 2.2.16). */
const ENABLED = 0x220;
const DISABLED = 0x222;

const personDn = (id: string) => `CN=${id},${PEOPLE}`;
const groupDn = (id: string) => `CN=${id},${GROUPS}`;
const replace = (id: string, attribute: string, value: string | number) =>
  `dn: ${personDn(id)}\nchangetype: modify\nreplace: ${attribute}\n${attribute}: ${value}\n`;

/** The last part of the identifier of a user or group, little-endian ([MS-DTYP] 2.4.2.2). */
function ridOf({ values }: DumpedEntry): number {
  const [sid] = values.get('objectsid') ?? [];
  return sid?.readUInt32LE(sid.length - 4) ?? 0;
}

const vocabulary: Vocabulary = {
  ids: { user: 'samaccountname', group: 'samaccountname' },
  photo: 'thumbnailphoto',
  members: ['member'],
  personDn,
  groupDn,
  innerDn: `OU=Inner,${PEOPLE}`,
  person(id, { photo }) {
    const lines = ['objectClass: user', `sAMAccountName: ${id}`, `userAccountControl: ${ENABLED}`];
    if (photo !== undefined) lines.push(`thumbnailPhoto:: ${photo.toString('base64')}`);
    return `dn: ${personDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  group(id, members) {
    const lines = ['objectClass: group', `sAMAccountName: ${id}`, ...members.map((dn) => `member: ${dn}`)];
    return `dn: ${groupDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  rename: (id, to) =>
    [
      `dn: ${personDn(id)}\nchangetype: modrdn\nnewrdn: CN=${to}\ndeleteoldrdn: 1\n`,
      replace(to, 'sAMAccountName', to),
    ].join('\n'),
  disable: (id) => replace(id, 'userAccountControl', DISABLED),
  isActive: (user) => (Number(textOf(user, 'useraccountcontrol')) & 2) === 0,
  primaryGroup: (user, groups) =>
    groups.find((group) => ridOf(group) === Number(textOf(user, 'primarygroupid')) && isOfDomain(group)),
  queries: {
    users: { filter: '(&(objectCategory=person)(objectClass=user))' },
    groups: { filter: '(objectClass=group)' },
  },
};

/** Groups below CN=Builtin have identifiers of another authority. */
function isOfDomain({ dn }: DumpedEntry): boolean {
  return !dn.includes('CN=Builtin');
}

const CONTENT = [
  ...[PEOPLE, GROUPS].map((dn) => `dn: ${dn}\nchangetype: add\nobjectClass: organizationalUnit\n`),
  documentedRecords('Samba and Active Directory'),
].join('\n');

/** An account that sees deleted entries, because it is an administrator. A few wrong passwords would lock it. */
const SECOND_ACCOUNT = [
  `dn: ${SECOND}\nchangetype: add\nobjectClass: user\nsAMAccountName: second\nuserAccountControl: 512\n${unicodePassword(PASSWORD)}\n`,
  `dn: CN=Domain Admins,CN=Users,${AD_SUFFIX}\nchangetype: modify\nadd: member\nmember: ${SECOND}\n`,
  `dn: ${AD_SUFFIX}\nchangetype: modify\nreplace: lockoutThreshold\nlockoutThreshold: 3\n`,
].join('\n');

describe('Samba as a domain controller', () => {
  /** It has this account, and starts with a wrong password. */
  let second: Promise<BehaviorService>;
  let passwordFile: string;

  afterAll(async () => {
    await (await second).stop();
  });

  const start = async () => {
    const server = await TestSamba.start();
    const { code, stderr } = await server.modify(`${CONTENT}\n${SECOND_ACCOUNT}`);
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
    const authority = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'authority-')), 'ca.pem');
    writeFileSync(authority, server.ca);
    const settings = {
      DIRECTORY_URL: `ldaps://${server.host}`,
      DIRECTORY_BASE_DN: AD_SUFFIX,
      DIRECTORY_BIND_DN: ACCOUNT,
      DIRECTORY_BIND_PASSWORD: PASSWORD,
      DIRECTORY_CA_FILE: authority,
    };
    passwordFile = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'password-')), 'password');
    writeFileSync(passwordFile, 'wrong');
    const { DIRECTORY_BIND_PASSWORD: _, ...others } = settings;
    // It starts together with the other one.
    second = BehaviorService.start({
      ...others,
      DIRECTORY_BIND_DN: SECOND,
      DIRECTORY_BIND_PASSWORD_FILE: passwordFile,
    });
    second.catch(() => undefined);
    const listMembers = async () =>
      Object.fromEntries(
        await Promise.all(LISTED.map(async (group) => [group, await server.listMembers(group)] as const)),
      );
    return { server, vocabulary, showsLag: false, lag: OldCopy.lagOf(server), settings, listMembers };
  };

  describeBehaviors(start, {
    'the members of primary groups, and leaves them out where the group changes': async (
      { server },
      change,
    ) => {
      const [staff] = parseDump(await server.search({ base: groupDn('staff') }));
      if (staff === undefined) throw new Error('The group does not exist');
      await change(
        `dn: ${groupDn('staff')}\nchangetype: modify\nadd: member\nmember: ${personDn('ann')}\nmember: ${personDn('ben')}\n`,
        replace('ann', 'primaryGroupID', ridOf(staff)),
        replace('ben', 'primaryGroupID', ridOf(staff)),
      );
      await change(replace('ben', 'primaryGroupID', DOMAIN_USERS));
    },
    'no members of other domains': async (_, change) => {
      await change(
        `dn: ${groupDn('choir')}\nchangetype: modify\nadd: member\nmember: <SID=S-1-5-21-1-2-3-1105>\n`,
      );
    },
    'the same after a wrong password was corrected, for which the account was not locked': async (
      directory,
    ) => {
      const countFailures = async () => {
        const [account] = parseDump(await directory.server.search({ base: SECOND }));
        return account === undefined ? null : textOf(account, 'badpwdcount');
      };
      const service = await second;
      const { state, reason } = await service.readStatus();
      expect([state, reason]).toEqual([
        'FAILING',
        expect.stringContaining('The account or its password is wrong'),
      ]);
      expect(await countFailures()).toBe('1');
      writeFileSync(passwordFile, PASSWORD);
      await eventually(service.readShown, await readExpected(directory));
      expect(await countFailures()).toBe('0');
    },
    'no deleted entries to an account that sees them': async (directory, change) => {
      const service = await second;
      await withoutDeleted(directory, change, service);
      await eventually(service.readShown, await readExpected(directory));
      await service.pause();
      await change(`dn: ${SECOND}\nchangetype: delete\n`);
    },
    'no members of a primary group that is deleted with its user': async (_, change) => {
      await change(vocabulary.person('temp', {}));
      await change(`dn: ${personDn('temp')}\nchangetype: delete\n`, vocabulary.person('next', {}));
    },
  });
});
