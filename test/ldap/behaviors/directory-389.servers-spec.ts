import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupDn, personDn } from '../../support/builders/directory.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { eventually } from '../../support/eventually.js';
import { MANAGER, TestDirectory389 } from '../../support/servers/directory-389.js';
import { SUFFIX } from '../../support/servers/slapd.mjs';
import { TestProxy } from '../../support/servers/proxy.js';
import { variable } from '../../support/servers/store.js';
import {
  type BehaviorDirectory,
  OldCopy,
  readExpected,
  type Shown,
  textOf,
  type Vocabulary,
} from './behavior-directory.js';
import { BehaviorService } from './behavior-service.js';
import { describeBehaviors, withoutDeleted } from './behaviors.js';
import { documentedRecords } from './documented-records.js';
import { standardVocabulary } from './openldap-vocabulary.js';

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
  /** Its account sees deleted entries. It starts without a server, and reads members only from the groups of users. */
  let second: BehaviorService;
  let balancer: TestProxy;

  afterAll(async () => {
    await second.stop();
    await balancer.stop();
  });

  const startServer = async () => {
    const server = await TestDirectory389.start();
    const { code, stderr } = await server.modify(CONTENT);
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
    return server;
  };

  const start = async () => {
    balancer = await TestProxy.start();
    const starting = BehaviorService.start({
      DIRECTORY_URL: balancer.url,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: MANAGER.dn,
      DIRECTORY_BIND_PASSWORD: MANAGER.password,
      ...modelSetting(MEMBER_OF),
    });
    const [server, service] = await Promise.all([startServer(), starting]);
    second = service;
    expect(await second.readShown()).toEqual({ users: {}, groups: {} });
    balancer.use(server.port);
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
    return { server, vocabulary, showsLag: false, lag: OldCopy.lagOf(server), settings, listMembers };
  };

  /** Waits until the second service shows the directory, except for one group: memberOf has only the values of `member`. */
  const untilSecondShows = async (directory: BehaviorDirectory) => {
    const without = ({ users, groups: { mixed, ...groups } }: Shown) => ({ users, groups });
    const expected = without(await readExpected(directory));
    await eventually(async () => without(await second.readShown()), expected);
  };

  describeBehaviors(start, {
    'members in several attributes, one of them with identifiers': async (_, change) => {
      const [ann, ben, cleo] = ['ann', 'ben', 'cleo'].map(personDn);
      await change(
        `dn: ${groupDn('mixed')}\nchangetype: add\nobjectClass: groupOfUniqueNames\nobjectClass: extensibleObject\ncn: mixed\nmember: ${ann}\nuniqueMember: ${ann}\nuniqueMember: ${cleo}#'0101'B\n`,
      );
      await change(`dn: ${groupDn('mixed')}\nchangetype: modify\nadd: uniqueMember\nuniqueMember: ${ben}\n`);
    },
    'the same after a start without a server, whose kind is recognized later': (directory) =>
      untilSecondShows(directory),
    'the same members where only the groups of users can be read': async (directory, change) => {
      for (const [operation, id] of [
        ['add', 'ann'],
        ['add', 'ben'],
        ['delete', 'ann'],
      ] as const)
        await change(
          `dn: ${groupDn('staff')}\nchangetype: modify\n${operation}: member\nmember: ${personDn(id)}\n`,
        );
      expect((await readExpected(directory)).groups['mixed']).toHaveLength(3);
      await untilSecondShows(directory);
    },
    'no deleted entries to an account that sees them': async (directory, change) => {
      await withoutDeleted(directory, change, second);
      await untilSecondShows(directory);
      await second.pause();
    },
  });
});
