import { builtInConfig } from '../support/builders/built-in-config.js';
import { Entry } from '../../src/ldap/entry.js';
import { EntryStager } from '../../src/mirror/revision/staged-entry.js';
import { buildLdif, groupDn, personDn, type TestGroup } from '../support/builders/directory.js';
import {
  expectedRoles,
  findInconsistencies,
  readEffectiveRoles,
} from '../support/builders/effective-roles.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** More users than those whose memberships are computed one by one. */
const MEMBERS = 5100;

const ids = Array.from({ length: MEMBERS + 50 }, (_, index) => `p${index}`);
const members = ids.slice(0, MEMBERS);
const [newcomer = ''] = ids.slice(MEMBERS);

/** A large group inside another one. */
function directoryOf(crowd: Omit<TestGroup, 'id'>) {
  const people = ids.map((id) => ({ id }));
  return {
    people,
    groups: [
      { id: 'crowd', ...crowd },
      { id: 'outer', members: ['@crowd', 'p3'], admins: ['p1'] },
    ],
  };
}

describe('a large group', () => {
  const service = TestService.forSuite({
    ldif: ldifOf(directoryOf({ members, admins: ['p1'], owners: ['p2'] })),
    environment: { DIRECTORY_GUARD_PERCENT: '100' },
  });

  beforeAll(() => stopFollowing(service));

  function ldifOf({ people, groups }: ReturnType<typeof directoryOf>): string {
    return buildLdif(people, groups);
  }

  it.each<[what: string, crowd: Omit<TestGroup, 'id'>]>([
    ['a member joins', { members: [...members, newcomer], admins: ['p1'], owners: ['p2'] }],
    ['a member becomes an admin, and an admin only a member', { members, admins: ['p3'], owners: ['p2'] }],
    ['the owner is no member any more', { members: members.slice(5), owners: ['p2'] }],
    [
      'unknown entries and the group itself',
      { members: [...members, 'nobody', '@crowd'], admins: ['@outer'] },
    ],
    ['most members leave', { members: members.slice(MEMBERS - 5) }],
    ['most members join', { members: ids }],
    ['all members become admins', { members: ids, admins: ids }],
    ['no members', {}],
  ])('has the right roles after a change: %s', async (_, crowd) => {
    await expectMembers(crowd);
  });

  async function expectMembers(crowd: Omit<TestGroup, 'id'>): Promise<void> {
    const directory = directoryOf(crowd);
    service.replaceDirectory(ldifOf(directory));
    expect((await service.synchronize({ isWhole: false })).kind).toBe('applied');
    expect(await readEffectiveRoles(service)).toEqual(expectedRoles(directory));
    expect(await findInconsistencies(service)).toEqual([]);
  }

  it('is mapped in steps, between which other work runs', async () => {
    let ticks = 0;
    let isRunning = true;
    const tick = () => {
      ticks++;
      if (isRunning) setImmediate(tick);
    };
    tick();
    const pictures = {
      put: () => Promise.reject(new Error('There are none')),
      flush: () => Promise.resolve(),
    };
    const values = [
      ['objectClass', ['groupOfNames']],
      ['cn', ['crowd']],
      ['member', members.map(personDn)],
    ] as const;
    const entry = new Entry(
      groupDn('crowd'),
      values.map(([name, texts]) => [name, texts.map((text) => Buffer.from(text))] as const),
    );
    const uuid = '00000000-0000-4000-8000-000000000001';
    await new EntryStager(builtInConfig().directory.mapping, pictures).stage('group', uuid, entry, '');
    isRunning = false;
    expect(ticks).toBeGreaterThanOrEqual(MEMBERS / 1000);
  });
});
