import { connect } from 'node:net';
import { checksums, preview, startPreviews } from '../support/clients/previews.js';
import { forSuite } from '../support/for-suite.js';

const MEMBERS =
  'members(first: 20) { totalCount nodes { user { id } role { value direct inheritedFrom { id } } } }';
const READ = `{ group(group: {id: "club"}) { id name ${MEMBERS} } users(first: 20) { nodes { id name } } groups(first: 20) { nodes { id } } }`;

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
        left: removeGroupMember(input: {group: {id: "union"}, user: {id: "olga"}}) { group { id } }
        refused: updateGroup(input: {group: {id: "union"}, name: "Mine no more"}) { group { id } }
      }`,
    );
    expect(errors.map(({ path, extensions }) => [path?.[0], extensions.code])).toEqual([
      ['createGroup', 'FORBIDDEN'],
      ['unknown', 'NOT_FOUND'],
      ['last', 'CONFLICT'],
      ['page', 'INVALID_CURSOR'],
      ['refused', 'FORBIDDEN'],
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
