import fc from 'fast-check';
import { buildLdif } from '../support/builders/directory.js';
import { findInconsistencies, withoutStrangers } from '../support/builders/effective-roles.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { directories, type RandomDirectory, randomDirectory } from '../support/builders/random-directory.js';
import { type HeldRole, heldRoles, ROLES } from '../support/builders/role-model.js';
import { TestService } from '../support/servers/service.js';
import { repetitions } from '../support/repetitions.js';

interface Members {
  nodes: {
    user: { id: string };
    role: { value: string; direct: string | null; inheritedFrom: { id: string }[] };
  }[];
}
const ROLE = 'role { value direct inheritedFrom { id } }';

describe('roles through nested groups', () => {
  const directory = randomDirectory({ people: 30, groups: 20 }, 7);
  const expected = heldRoles(directory.groups);
  const service = TestService.forSuite({ ldif: buildLdif(directory.people, directory.groups) });
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
  });

  it('are the highest over all paths, with the direct role and the groups of inherited roles', async () => {
    expect(await readRoles(service, authorization)).toEqual(plain(expected));
  });

  it.each(ROLES.flatMap((is) => [false, true].map((strict) => ({ is, strict }))))(
    'match isMember and every filter by role: %j',
    async ({ is, strict }) => {
      const fits = (role: HeldRole | undefined) =>
        role !== undefined && (strict ? role.value === is : ROLES.indexOf(role.value) >= ROLES.indexOf(is));
      for (const { id: group } of directory.groups.slice(0, 4)) {
        const filter = `{is: ${is}, strict: ${strict}}`;
        const asked = directory.people
          .map(({ id }) => `${id}: isMember(user: {id: "${id}"}, group: {id: "${group}"}, role: ${filter})`)
          .slice(0, 15);
        const data = await service.read(
          `{ members: group(group: {id: "${group}"}) { members(first: 100, filter: {role: ${filter}}) { nodes { user { id } } } }
             users(first: 100, filter: {memberOf: {id: "${group}"}, role: ${filter}}) { nodes { id } }
             ${asked.join('\n')} }`,
          { authorization },
        );
        const { members, users, ...isMember } = data as unknown as {
          members: { members: { nodes: { user: { id: string } }[] } };
          users: { nodes: { id: string }[] };
        };
        const holders = directory.people
          .map(({ id }) => id)
          .filter((id) => fits(expected.get(group)?.get(id)));
        expect(members.members.nodes.map(({ user }) => user.id).sort()).toEqual([...holders].sort());
        expect(users.nodes.map(({ id }) => id).sort()).toEqual([...holders].sort());
        expect(isMember).toEqual(
          Object.fromEntries(directory.people.slice(0, 15).map(({ id }) => [id, holders.includes(id)])),
        );
      }
    },
  );
});

describe('after changes of the directory', () => {
  it('roles, counters and names equal those of a new mirror', async () => {
    const size = { people: 14, groups: 9 };
    const start = randomDirectory(size, 11);
    const service = await TestService.start({
      ldif: buildLdif(start.people, start.groups),
      // All deletions of these tests are intended.
      environment: { DIRECTORY_GUARD_PERCENT: '100' },
    });
    try {
      const authorization = await service.serviceAccount('read', 'directory');
      await stopFollowing(service);
      // Some of the users and groups of each kind are deleted, some come back, and all can be renamed and nested differently.
      const change = fc
        .tuple(directories(size), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }))
        .map(([{ people, groups }, peopleGone, groupsGone]) => ({
          people: people.slice(peopleGone),
          groups: groups.slice(groupsGone),
        }));
      const steps = fc.sample(change, { numRuns: repetitions({ usually: 4, long: 12 }), seed: 3 });
      for (const step of [...steps, ...smallChanges(steps.at(-1) ?? start)]) {
        service.replaceDirectory(buildLdif(step.people, step.groups));
        expect((await service.synchronize()).kind).toBe('applied');
        const present = heldRoles(withoutStrangers(step));
        expect(await readRoles(service, authorization)).toEqual(plain(present));
        expect(await findInconsistencies(service)).toEqual([]);
      }
    } finally {
      await service.stop();
    }
  });
});

/** The smallest valid picture. */
const PHOTO = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** One change at a time, so that the mirror recomputes as little as possible. */
function* smallChanges({ people, groups }: RandomDirectory): Generator<RandomDirectory> {
  for (const [index, group] of groups.slice(0, repetitions({ usually: 2, long: 4 })).entries()) {
    const others = groups.filter((each) => each !== group);
    yield { people, groups: [...others, { ...group, members: [], name: `Renamed ${index}` }] };
    yield { people: people.slice(index % 5), groups };
    yield { people, groups: others };
    yield { people: people.map((each, at) => (at % 4 === index ? { ...each, photo: PHOTO } : each)), groups };
    yield {
      people: people.map((each, at) => (at % 4 === index ? { ...each, schoolYear: '9X' } : each)),
      groups,
    };
  }
}

/** The roles of all users in all groups, as the API returns them. */
async function readRoles(service: TestService, authorization: string): Promise<Record<string, unknown>> {
  const { groups } = await service.read<{ groups: { nodes: { id: string; members: Members }[] } }>(
    `{ groups(first: 50) { nodes { id members(first: 100) { nodes { user { id } ${ROLE} } } } } }`,
    { authorization },
  );
  return Object.fromEntries(
    groups.nodes.map(({ id, members }) => [
      id,
      Object.fromEntries(members.nodes.map(({ user, role }) => [user.id, heldOf(role)])),
    ]),
  );
}

function heldOf({ value, direct, inheritedFrom }: Members['nodes'][number]['role']): unknown {
  return { value, direct, inheritedFrom: inheritedFrom.map(({ id }) => id).sort() };
}

function plain(roles: Map<string, Map<string, HeldRole>>): Record<string, unknown> {
  return Object.fromEntries([...roles].map(([group, held]) => [group, Object.fromEntries(held)]));
}
