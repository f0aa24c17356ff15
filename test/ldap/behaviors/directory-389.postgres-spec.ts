import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupDn, personDn } from '../../support/builders/directory.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { eventually } from '../../support/eventually.js';
import { MANAGER, TestDirectory389 } from '../../support/servers/directory-389.js';
import { SUFFIX } from '../../support/servers/slapd.mjs';
import { TcpBalancer } from '../../support/servers/tcp-balancer.js';
import { variable } from '../../support/servers/store.js';
import { OldCopy, readExpected, textOf, type Vocabulary } from './behavior-directory.js';
import { BehaviorService } from './behavior-service.js';
import { describeBehaviors, withoutDeleted } from './behaviors.js';
import { documentedRecords } from './documented-records.js';
import { standardVocabulary } from './standard-vocabulary.js';

const ACCOUNT = `cn=mirror,${SUFFIX}`;
const PASSWORD = 'mirror-secret';

/** The members of groups as an account sees them that may read the groups of users only. */
const MEMBER_OF = 'users: {memberOf: memberOf}\ngroups: {members: {attribute: []}}';

const vocabulary: Vocabulary = {
  ...standardVocabulary,
  members: ['member', 'uniquemember'],
  queries: {
    ...standardVocabulary.queries,
    groups: {
      base: `ou=groups,${SUFFIX}`,
      filter: '(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))',
    },
  },
  disable: (id) => `dn: ${personDn(id)}\nchangetype: modify\nreplace: nsAccountLock\nnsAccountLock: TRUE\n`,
  isActive: (user) => textOf(user, 'nsaccountlock').toLowerCase() !== 'true',
};

const CONTENT = [
  ...['people', 'groups'].map(
    (name) => `dn: ou=${name},${SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n`,
  ),
  documentedRecords('389 Directory Server'),
].join('\n');

describe('389 Directory Server', () => {
  const start = async () => {
    const server = await TestDirectory389.start();
    const { code, stderr } = await server.modify(CONTENT);
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
    const authority = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'authority-')), 'ca.pem');
    writeFileSync(authority, server.ca);
    const settings = {
      DIRECTORY_URL: `ldaps://127.0.0.1:${server.tlsPort}`,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: ACCOUNT,
      DIRECTORY_BIND_PASSWORD: PASSWORD,
      DIRECTORY_CA_FILE: authority,
    };
    const listMembers = async () => ({ choir: await server.listMembers('choir') });
    return { server, vocabulary, showsLag: true, lag: () => OldCopy.of(server), settings, listMembers };
  };

  describeBehaviors(start, {
    'members in several attributes, one of them with identifiers': async (_, change) => {
      const [ann, ben, cleo] = ['ann', 'ben', 'cleo'].map(personDn);
      await change(
        `dn: ${groupDn('mixed')}\nchangetype: add\nobjectClass: groupOfUniqueNames\nobjectClass: extensibleObject\ncn: mixed\nmember: ${ann}\nuniqueMember: ${ann}\nuniqueMember: ${cleo}#'0101'B\n`,
      );
      await change(`dn: ${groupDn('mixed')}\nchangetype: modify\nadd: uniqueMember\nuniqueMember: ${ben}\n`);
    },
    'no deleted entries to an account that sees them': (directory, change) =>
      withoutDeleted(directory, change, MANAGER),
    'the same after a start without a server, whose kind is recognized later': async (directory) => {
      const balancer = await TcpBalancer.start();
      const service = await BehaviorService.start({ ...directory.settings, DIRECTORY_URL: balancer.url });
      try {
        expect(await service.readShown()).toEqual({ users: {}, groups: {} });
        balancer.use((directory.server as TestDirectory389).port);
        await eventually(service.readShown, await readExpected(directory));
      } finally {
        await service.stop();
        await balancer.stop();
      }
    },
    'the same members where only the groups of users can be read': async (directory, change) => {
      const service = await BehaviorService.start({ ...directory.settings, ...modelSetting(MEMBER_OF) });
      try {
        for (const [operation, id] of [
          ['add', 'ann'],
          ['add', 'ben'],
          ['delete', 'ann'],
        ] as const)
          await change(
            `dn: ${groupDn('staff')}\nchangetype: modify\n${operation}: member\nmember: ${personDn(id)}\n`,
          );
        const expected = await readExpected(directory);
        // The plugin of the server that writes memberOf reads only member.
        const { mixed, ...groups } = expected.groups;
        expect(mixed).toHaveLength(3);
        await eventually(async () => {
          const { mixed: _, ...shown } = (await service.readShown()).groups;
          return shown;
        }, groups);
      } finally {
        await service.stop();
      }
    },
  });
});
