import fc from 'fast-check';
import { followChanges, ClientReplica } from '../support/clients/changes.js';
import { buildLdif } from '../support/builders/directory.js';
import { expectedRoles } from '../support/builders/effective-roles.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { directories, type RandomDirectory } from '../support/builders/random-directory.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

const STEPS = repetitions({ usually: 8, long: 20 });
const SIZE = { people: 14, groups: 8 };
/** More entries than ids at any time. */
const ENTRIES = 20;
const UUIDS = { people: uuids('1'), groups: uuids('2') };

describe('a copy that is kept by applying changes in order', () => {
  let service: TestService;
  let authorization: string;

  beforeEach(async () => {
    service = await TestService.start({ environment: { DIRECTORY_GUARD_PERCENT: '100' } });
    await stopFollowing(service);
    authorization = await service.serviceAccount('directory');
  });

  afterEach(() => service.stop());

  it.each([
    // Without cyclic exchanges of ids, because the order of a cycle is undefined.
    { key: 'id', entries: fc.subarray([...Array(ENTRIES).keys()], bounds(SIZE.people)), seed: 12 },
    {
      key: 'nodeId',
      entries: fc.shuffledSubarray([...Array(ENTRIES).keys()], bounds(SIZE.people)),
      seed: 13,
    },
  ] as const)('by $key equals the directory after random changes', async ({ key, entries, seed }) => {
    const replica = new ClientReplica(key);
    let cursor: string | null = null;
    const drawn = fc.tuple(someOf(SIZE), entries, entries);
    for (const [directory, ofPeople, ofGroups] of fc.sample(drawn, { numRuns: STEPS, seed })) {
      const people = directory.people.map((person, index) => ({
        ...person,
        uuid: UUIDS.people[ofPeople[index] ?? index] ?? '',
      }));
      const groups = directory.groups.map((group, index) => ({
        ...group,
        uuid: UUIDS.groups[ofGroups[index] ?? index] ?? '',
      }));
      service.replaceDirectory(buildLdif(people, groups));
      const outcome = await service.synchronize();
      if (outcome.kind === 'blocked') await service.synchronize({ confirm: outcome.hash });
      const found = await followChanges(service, authorization, cursor);
      cursor = found.cursor;
      replica.apply(found.changes);
      expect(plain(replica)).toEqual(wanted(directory));
    }
    const fresh = new ClientReplica(key);
    fresh.apply((await followChanges(service, authorization, null)).changes);
    expect(plain(fresh)).toEqual(plain(replica));
  });
});

function bounds(count: number) {
  return { minLength: count, maxLength: count };
}

function uuids(kind: string): string[] {
  return Array.from(
    { length: ENTRIES },
    (_, index) => `00000000-0000-4000-800${kind}-${String(index).padStart(12, '0')}`,
  );
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

/** Users, and roles by group and user. */
interface Plain {
  people: string[];
  groups: Record<string, Record<string, string>>;
}

function plain({ people, groups }: ClientReplica): Plain {
  return {
    people: [...people].sort(),
    groups: Object.fromEntries(
      [...groups].map(([group, held]) => [group, Object.fromEntries(held)] as const),
    ),
  };
}

function wanted(directory: RandomDirectory): Plain {
  const roles = expectedRoles(directory);
  const rolesIn = (id: string) =>
    Object.fromEntries(
      Object.entries(roles[id] ?? {}).map(([person, { value }]) => [person, value] as const),
    );
  return {
    people: directory.people.map(({ id }) => id).sort(),
    groups: Object.fromEntries(directory.groups.map(({ id }) => [id, rolesIn(id)] as const)),
  };
}
