import { connect } from 'node:net';
import { checksums, preview, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

const MEMBERS =
  'members(first: 20) { totalCount nodes { user { id } role { value direct inheritedFrom { id } } } }';
const SEEN = `id name ${MEMBERS} parents(first: 5) { totalCount nodes { id members(first: 1) { totalCount } } } subgroups(first: 5) { nodes { id name } }`;
const READ = `{ group(group: {id: "club"}) { ${SEEN} } users(first: 20) { totalCount nodes { id name } } groups(first: 20) { totalCount nodes { id } } }`;

interface SeenGroup {
  id: string;
  members: {
    totalCount: number;
    nodes: { user: { id: string }; role: { value: string; direct: string | null } }[];
  };
  parents: { nodes: { id: string; members: { totalCount: number } }[] };
  subgroups: { nodes: { id: string; name: string }[] };
}

describe('an operation of previews', () => {
  const service = forSuite(() => startPreviews());
  let administrator: string;
  let stored: unknown;
  let answered: unknown;

  beforeAll(async () => {
    administrator = await service.serviceAccount('read', 'directory', 'write');
    stored = await checksums(service);
    answered = await read();
  });

  // After each test, nothing of its changes remains.
  afterEach(async () => expect(await checksums(service)).toEqual(stored));

  const read = () => service.read(READ, { authorization: administrator });

  const rolesIn = ({ members }: SeenGroup) =>
    members.nodes.map(({ user, role }) => `${user.id} ${role.value} ${role.direct ?? '-'}`).sort();

  it('applies its mutations one after another', async () => {
    const { data, errors } = await preview(
      service,
      'olga',
      `mutation {
        made: createGroup(input: {id: "circle", name: "Circle"}) { group { ${SEEN} } }
        member: addGroupMember(input: {group: {id: "circle"}, user: {id: "sven"}}) { membership { group { ${SEEN} } } }
        nested: createGroup(input: {id: "inner", name: "Inner", parent: {id: "circle"}}) { group { ${SEEN} } }
        inner: addGroupMember(input: {group: {id: "inner"}, user: {id: "ines"}, role: ADMIN}) { membership { user { groups(first: 9) { nodes { group { id } role { value } } } } } }
        renamed: updateGroup(input: {group: {id: "inner"}, name: "A circle inside"}) { group { ${SEEN} } }
        profile: updateProfile(input: {name: "Olga the First"}) { profile { groups(first: 9, filter: {search: "inner"}) { nodes { user { name } group { name } } } } }
        promoted: updateGroupMember(input: {group: {id: "circle"}, user: {id: "sven"}, role: OWNER}) { membership { group { ${SEEN} } } }
        removed: removeGroupMember(input: {group: {id: "circle"}, user: {id: "olga"}}) { group { ${SEEN} } }
        refused: updateGroup(input: {group: {id: "circle"}, name: "Mine no more"}) { group { id } }
        deleted: deleteGroup(input: {group: {id: "inner"}}) { deletedGroupId }
        gone: addGroupMember(input: {group: {id: "inner"}, user: {id: "sven"}}) { membership { role { value } } }
        again: createGroup(input: {id: "inner", name: "Inner again"}) { group { ${SEEN} } }
      }`,
    );
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['refused'], 'FORBIDDEN'],
      [['gone'], 'NOT_FOUND'],
    ]);
    const group = (alias: string) => {
      const payload = data?.[alias] as { group?: SeenGroup; membership?: { group: SeenGroup } };
      return (payload.group ?? payload.membership?.group) as SeenGroup;
    };
    expect(rolesIn(group('made'))).toEqual(['olga OWNER OWNER']);
    expect(rolesIn(group('member'))).toEqual(['olga OWNER OWNER', 'sven MEMBER MEMBER']);
    expect(group('nested').parents.nodes).toEqual([{ id: 'circle', members: { totalCount: 2 } }]);
    expect(data?.['inner']).toMatchObject({
      membership: {
        user: {
          groups: {
            nodes: expect.arrayContaining([
              { group: { id: 'circle' }, role: { value: 'MEMBER' } },
              { group: { id: 'inner' }, role: { value: 'ADMIN' } },
            ]) as unknown,
          },
        },
      },
    });
    expect(group('renamed').parents.nodes).toEqual([{ id: 'circle', members: { totalCount: 3 } }]);
    expect(data?.['profile']).toEqual({
      profile: {
        groups: { nodes: [{ user: { name: 'Olga the First' }, group: { name: 'A circle inside' } }] },
      },
    });
    expect(rolesIn(group('promoted'))).toEqual(['ines MEMBER -', 'olga OWNER OWNER', 'sven OWNER OWNER']);
    expect(rolesIn(group('removed'))).toEqual(['ines MEMBER -', 'olga MEMBER -', 'sven OWNER OWNER']);
    expect(group('removed').subgroups.nodes).toEqual([{ id: 'inner', name: 'A circle inside' }]);
    expect(rolesIn(group('again'))).toEqual(['olga OWNER OWNER']);
    expect(group('again').parents.nodes).toEqual([]);
  });

  it('continues after an error as if that mutation had not been executed', async () => {
    const change =
      'updateGroup(input: {group: {id: "club"}, description: "Same"}) { group { description } preview { ldif } }';
    const { data: without } = await preview(service, 'olga', `mutation { it: ${change} }`);
    const { data, errors } = await preview(
      service,
      'olga',
      `mutation {
        createGroup(input: {id: "x", name: "X", parent: {id: "school"}}) { group { id } }
        unknown: addGroupMember(input: {group: {id: "x"}, user: {id: "sven"}}) { membership { role { value } } }
        it: ${change}
        last: deleteGroup(input: {group: {id: "club"}}) { deletedGroupId }
        page: updateGroup(input: {group: {id: "union"}, name: "Other"}) { group { name parents(first: 1, after: "nowhere") { totalCount } } }
        after: updateGroup(input: {group: {id: "union"}, description: "Other"}) { group { description } }
      }`,
    );
    expect(errors.map(({ path, extensions }) => [path?.[0], extensions.code])).toEqual([
      ['createGroup', 'FORBIDDEN'],
      ['unknown', 'NOT_FOUND'],
      ['last', 'CONFLICT'],
      ['page', 'INVALID_CURSOR'],
    ]);
    expect(data?.['it']).toEqual(without?.['it']);
    expect(data?.['after']).toEqual({ group: { description: 'Other' } });
  });

  it('on a group is independent of nine concurrent ones', async () => {
    const mutation = `mutation ($name: String!) {
      updateGroup(input: {group: {id: "club"}, name: $name}) { group { name } }
      removeGroupMember(input: {group: {id: "club"}, user: {id: "mia"}}) { group { ${MEMBERS} } }
      createGroup(input: {id: "the-same", name: $name, parent: {id: "club"}}) { group { id name ${MEMBERS} } }
    }`;
    const names = Array.from({ length: 10 }, (_, index) => `Name ${index}`);
    const answers = await Promise.all(names.map((name) => preview(service, 'olga', mutation, { name })));
    const [first] = answers;
    for (const [index, { data, errors }] of answers.entries()) {
      expect(errors).toEqual([]);
      expect(data?.['updateGroup']).toEqual({ group: { name: names[index] } });
      expect(data?.['createGroup']).toMatchObject({
        group: { name: names[index], members: { totalCount: 1 } },
      });
      expect(data?.['removeGroupMember']).toEqual(first?.data?.['removeGroupMember']);
    }
  });

  it('leaves nothing behind when its client disconnects', async () => {
    const query = `mutation { ${Array.from({ length: 10 }, (_, index) => `m${index}: createGroup(input: {id: "left-${index}", name: "Left"}) { group { id } }`).join(' ')} }`;
    const body = JSON.stringify({ query });
    const { host, port } = service.config;
    const head = `POST /graphql/v1 HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${administrator}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    for (const delay of [0, 20, 60, 120]) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, host, () => {
          socket.write(head + body);
          setTimeout(() => socket.destroy(), delay);
        });
        socket.on('error', () => undefined).on('close', () => resolve());
      });
    }
    expect(await read()).toEqual(answered);
    const { errors } = await preview(
      service,
      'olga',
      'mutation { updateProfile(input: {name: "Next"}) { profile { name } } }',
    );
    expect(errors).toEqual([]);
  });
});
