import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import {
  expectedRoles,
  findInconsistencies,
  readEffectiveRoles,
} from '../support/builders/effective-roles.js';
import { stopFollowing, takeOver } from '../support/clients/mirror.js';
import { directories, type RandomDirectory, randomDirectory } from '../support/builders/random-directory.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

const SCHOOL = Array.from({ length: 2000 }, (_, index) => ({ id: `p${index}` }));
const NEWCOMER = { id: 'newcomer' };

/** A class in a year in a school of 2,000. */
function buildSchool({ classMembers }: { classMembers: string[] }): string {
  return buildLdif(
    [...SCHOOL, NEWCOMER],
    [
      { id: 'school', members: ['@year', ...SCHOOL.map(({ id }) => id)] },
      { id: 'year', members: ['@class', 'p1', 'p2'] },
      { id: 'class', members: classMembers },
    ],
  );
}

describe('a user who joins a group inside two others', () => {
  const service = TestService.forSuite({ ldif: buildSchool({ classMembers: ['p1'] }) });
  let before: Set<string>;

  beforeAll(async () => {
    before = new Set(await listVersions(service));
    await takeOver(service, buildSchool({ classMembers: ['p1', NEWCOMER.id] }));
  });

  it('is a member of that group and all outer groups', async () => {
    const roles = await readEffectiveRoles(service);
    const inherited = (from: string) => ({ value: 'MEMBER', direct: null, inheritedFrom: [from] });
    expect(['class', 'year', 'school'].map((group) => roles[group]?.[NEWCOMER.id])).toEqual([
      { value: 'MEMBER', direct: 'MEMBER', inheritedFrom: [] },
      inherited('class'),
      inherited('year'),
    ]);
    expect(await findInconsistencies(service)).toEqual([]);
  });

  it('changes and locks only rows of this user and these groups', async () => {
    const after = await listVersions(service);
    const touched = after.filter((version) => !before.has(version)).map((version) => version.split(':')[0]);
    expect(touched.sort()).toEqual([
      'group class',
      'group school',
      'group year',
      'person newcomer',
      'role of newcomer in class',
      'role of newcomer in school',
      'role of newcomer in year',
    ]);
    expect(after).toHaveLength(before.size + 3);
  });
});

describe.each([
  {
    what: 'changes of a few memberships',
    size: { people: 12, groups: 8 },
    steps: repetitions({ usually: 10, long: 25 }),
    most: 2000,
    crowd: spread,
  },
  {
    what: 'changes of whole groups',
    size: { people: 400, groups: 30 },
    steps: repetitions({ usually: 2, long: 4 }),
    most: Infinity,
    crowd: gather,
  },
])('recomputed roles for $what', ({ size, steps, most, crowd }) => {
  it('equal those of a reference implementation', async () => {
    const start = crowd(randomDirectory(size, 5), steps);
    const service = await TestService.start({
      ldif: buildLdif(start.people, start.groups),
      // All deletions of these tests are intended.
      environment: { DIRECTORY_GUARD_PERCENT: '100' },
    });
    try {
      await stopFollowing(service);
      expect(await readEffectiveRoles(service)).toEqual(expectedRoles(start));
      for (const [step, sample] of fc.sample(someOf(size), { numRuns: steps, seed: 8 }).entries()) {
        const directory = crowd(sample, step);
        service.replaceDirectory(buildLdif(directory.people, directory.groups));
        const outcome = await service.synchronize();
        if (outcome.kind !== 'applied') throw new Error(`The run was ${outcome.kind}`);
        const { created, updated, deleted } = outcome.counts.memberships;
        const changed = created + updated + deleted;
        expect([changed > 2000, changed > most]).toEqual([most > 2000, false]);
        expect(await readEffectiveRoles(service)).toEqual(expectedRoles(directory));
        expect(await findInconsistencies(service)).toEqual([]);
      }
    } finally {
      await service.stop();
    }
  });
});

/** Unchanged. */
function spread(directory: RandomDirectory): RandomDirectory {
  return directory;
}

/** With a fifth of the users in every group, and others in the next step. */
function gather({ people, groups }: RandomDirectory, step: number): RandomDirectory {
  const crowded = groups.map((group, at) => {
    const crowd = people.filter((_, index) => (index + at + step) % 5 === 0).map(({ id }) => id);
    return { ...group, members: [...new Set([...(group.members ?? []), ...crowd])] };
  });
  return { people, groups: crowded };
}

/** Directories that lack some of the users and groups. */
function someOf(size: { people: number; groups: number }): fc.Arbitrary<RandomDirectory> {
  return fc
    .tuple(directories(size), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }))
    .map(([{ people, groups }, peopleGone, groupsGone]) => ({
      people: people.slice(peopleGone),
      groups: groups.slice(groupsGone),
    }));
}

/** Every row of roles, with the system columns that change when it is written (xmin) or locked (xmax). */
async function listVersions({ app }: TestService): Promise<string[]> {
  const rows: { version: string }[] = await app.get(DataSource).query(`
    select format('person %s: %s %s %s', id, ctid, xmin, xmax) as version from users
    union all
    select format('group %s: %s %s %s', id, ctid, xmin, xmax) from groups
    union all
    select format('role of %s in %s: %s %s %s', u.id, g.id, m.ctid, m.xmin, m.xmax)
    from effective_memberships m join users u on u.key = m.user_key join groups g on g.key = m.group_key`);
  return rows.map(({ version }) => version).sort();
}
