import fc from 'fast-check';
import { followChanges, Replica } from './support/changes.js';
import { buildLdif } from './support/directory.js';
import { expectedRoles } from './support/effective-roles.js';
import { stopFollowing } from './support/mirror.js';
import { directories, type RandomDirectory } from './support/random-directory.js';
import { TestService } from './support/service.js';

describe('a copy that is kept by changes alone', () => {
  it('has the people, the groups and the roles of the directory, whatever happens to it', async () => {
    const size = { people: 14, groups: 8 };
    const service = await TestService.start({ environment: { DIRECTORY_GUARD_PERCENT: '100' } });
    try {
      await stopFollowing(service);
      const authorization = await service.serviceAccount('directory');
      const replica = new Replica();
      let cursor: string | null = null;
      for (const directory of fc.sample(someOf(size), { numRuns: 20, seed: 12 })) {
        service.replaceDirectory(buildLdif(directory.people, directory.groups));
        await service.synchronise({ force: true });
        const found = await followChanges(service, authorization, cursor);
        cursor = found.cursor;
        replica.apply(found.changes);
        expect(plain(replica)).toEqual(wanted(directory));
      }
      const anew = new Replica();
      anew.apply((await followChanges(service, authorization, null)).changes);
      expect(plain(anew)).toEqual(plain(replica));
    } finally {
      await service.stop();
    }
  });
});

/** Directories of which some of the people and groups are missing. */
function someOf(size: { people: number; groups: number }): fc.Arbitrary<RandomDirectory> {
  return fc
    .tuple(directories(size), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }))
    .map(([{ people, groups }, peopleGone, groupsGone]) => ({
      people: people.slice(peopleGone),
      groups: groups.slice(groupsGone),
    }));
}

/** People, and roles by group and person. */
interface Plain {
  people: string[];
  groups: Record<string, Record<string, string>>;
}

function plain({ people, groups }: Replica): Plain {
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
