import { buildLdif } from '../support/builders/directory.js';
import { randomDirectory } from '../support/builders/random-directory.js';
import { type HeldRole, heldRoles, ROLES } from '../support/builders/role-model.js';
import { TestService } from '../support/servers/service.js';

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

  it('are the highest over all paths, with the direct role and the groups of inherited roles', async () =>
    expect(await readRoles(service, authorization)).toEqual(plain(expected)));

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
