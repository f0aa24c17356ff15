import { buildLdif, type TestGroup } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { replaceUntil, stopFollowing, takeOver } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** As many as a model may have: see docs/model.md. */
const FIELDS = 100;

const NAMES = Array.from({ length: FIELDS }, (_, index) => `f${index}`);
const fields = NAMES.map(
  (name) => `    ${name}: {attribute: x-${name}, type: String, description: A field.}\n`,
).join('');
const MODEL = `users:\n  fields:\n${fields}groups:\n  fields:\n${fields}`;

const PEOPLE = Array.from({ length: 10 }, (_, index) => ({ id: `p${index}` }));
const GROUPS: TestGroup[] = PEOPLE.map(({ id }) => ({ id: `g-${id}`, members: [id] }));

const ALL = [...NAMES, 'updatedAt'].join(' ');
const VALUES = {
  ...Object.fromEntries(NAMES.map((name) => [name, 'a'])),
  updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
};
const EDGE = { cursor: expect.any(String) as string };

/** A directory whose users and groups have the first custom fields, and a text in the first of all. */
function directory({ first = 'a', held = FIELDS }): string {
  const values = Array.from({ length: held }, (_, index) => `x-f${index}: ${index === 0 ? first : 'a'}`);
  const [version, ...records] = buildLdif(PEOPLE, GROUPS).split('\n\n');
  return [version, ...records.map((record) => [record.trimEnd(), ...values].join('\n'))]
    .join('\n\n')
    .concat('\n');
}

describe('a model with the most fields of its own', () => {
  const service = TestService.forSuite(() => ({
    ldif: directory({}),
    environment: modelSetting(MODEL),
    logged: true,
  }));
  let authorization: string;

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory', 'write');
  });

  const last = `f0 f${FIELDS - 1}`;
  const read = () =>
    service.read(`{ user(user: {id: "p9"}) { ${last} } group(group: {id: "g-p9"}) { ${last} } }`, {
      authorization,
    });
  const both = (values: object) => ({ user: values, group: values });

  it('shows all fields of nodes', async () => {
    const ids = await service.read<Record<'user' | 'group', { nodeId: string }>>(
      '{ user(user: {id: "p9"}) { nodeId } group(group: {id: "g-p9"}) { nodeId } }',
      { authorization },
    );
    const [user, group] = [ids.user.nodeId, ids.group.nodeId];
    const node = `{ ... on User { ${ALL} } ... on Group { ${ALL} } }`;
    const text = `{ node(nodeId: "${user}") ${node} nodes(nodeIds: ["${group}", "${user}"]) ${node} }`;
    expect(await service.read(text, { authorization })).toEqual({ node: VALUES, nodes: [VALUES, VALUES] });
  });

  it.each<[what: string, text: string, data: object]>([
    ['a page', `{ users(first: 1) { nodes { ${ALL} } } }`, { users: { nodes: [VALUES] } }],
    [
      'a page with cursors',
      `{ groups(first: 1) { edges { cursor node { ${ALL} } } pageInfo { endCursor } } }`,
      { groups: { edges: [{ ...EDGE, node: VALUES }], pageInfo: { endCursor: EDGE.cursor } } },
    ],
    [
      'results of a search',
      `{ search(query: "p9", first: 2) { edges { cursor node { ... on User { ${ALL} } ... on Group { ${ALL} } } } } }`,
      { search: { edges: [1, 2].map(() => ({ ...EDGE, node: VALUES })) } },
    ],
    [
      'a group and its members',
      `{ group(group: {id: "g-p9"}) { ${ALL} members(first: 1) { edges { cursor node { user { ${ALL} } } } } } }`,
      { group: { ...VALUES, members: { edges: [{ ...EDGE, node: { user: VALUES } }] } } },
    ],
    [
      'a user and their groups',
      `{ user(user: {id: "p9"}) { ${ALL} groups(first: 1) { nodes { group { ${ALL} } } } } }`,
      { user: { ...VALUES, groups: { nodes: [{ group: VALUES }] } } },
    ],
    [
      'the first changes',
      `{ changes(first: 2) { nodes { user { ${ALL} } } } }`,
      { changes: { nodes: [{ user: VALUES }, { user: VALUES }] } },
    ],
    [
      'previews',
      `mutation {
        updateUser(input: {user: {id: "p9"}, name: "Nina"}) { user { name ${ALL} groups(first: 1) { nodes { group { ${ALL} } } } } }
        updateGroup(input: {group: {id: "g-p9"}, name: "Nine"}) { group { name ${ALL} members(first: 1) { nodes { user { ${ALL} } } } } }
      }`,
      {
        updateUser: { user: { ...VALUES, name: 'Nina', groups: { nodes: [{ group: VALUES }] } } },
        updateGroup: { group: { ...VALUES, name: 'Nine', members: { nodes: [{ user: VALUES }] } } },
      },
    ],
  ])('shows all fields of %s', async (_, text, data) => {
    expect(await service.read(text, { authorization })).toEqual(data);
  });

  it('takes changes, and holds one that takes the last field from all', async () => {
    expect(await read()).toEqual(both({ f0: 'a', f99: 'a' }));
    await takeOver(service, directory({ first: 'b' }));
    expect(await read()).toEqual(both({ f0: 'b', f99: 'a' }));
    const { blockedReason } = await replaceUntil(service, directory({ first: 'b', held: 99 }), 'BLOCKED');
    expect(blockedReason).toContain('the attribute x-f99 from 10 of 10 users');
    await replaceUntil(service, directory({ first: 'b' }), 'IDLE');
  });

  it('loses the last field from all when that is confirmed', async () => {
    await stopFollowing(service);
    service.replaceDirectory(directory({ first: 'c', held: 99 }));
    const blocked = await service.synchronize();
    if (blocked.kind !== 'blocked') throw new Error(`The run is ${blocked.kind}`);
    expect(await service.synchronize({ confirm: blocked.hash })).toMatchObject({ kind: 'applied' });
    expect(await read()).toEqual(both({ f0: 'c', f99: null }));
  });
});

describe('the report of a dry run', () => {
  // PostgreSQL shortens names of columns to 63 characters.
  const long = 'a'.repeat(63);
  const names = [`${long}b`, `${long}c`, 'otherValues'];
  const service = TestService.forSuite(() => ({
    ldif: directoryOf({}),
    environment: modelSetting(
      `users:\n  fields:\n${names
        .map((name, index) => `    ${name}: {attribute: x-n${index}, type: String, description: A field.}\n`)
        .join('')}`,
    ),
  }));

  /** Users whose fields have the same text, except one of them. */
  function directoryOf(changed: Readonly<Record<string, string>>): string {
    const values = names.map((name, index) => `x-n${index}: ${changed[name] ?? 'a'}`);
    const [version, ...records] = buildLdif(PEOPLE).split('\n\n');
    return `${[version, ...records.map((record) => [record.trimEnd(), ...values].join('\n'))].join('\n\n')}\n`;
  }

  beforeAll(() => stopFollowing(service));

  it.each(names)('names the one field that changes: %s', async (name) => {
    service.replaceDirectory(directoryOf({ [name]: 'b' }));
    const planned = await service.synchronize({ dryRun: true });
    if (planned.kind !== 'planned') throw new Error(`It was ${planned.kind}`);
    const { entries } = planned.changes;
    expect(entries.map(({ change, fields }) => [change, fields])).toEqual(
      PEOPLE.map(() => ['updated', [name]]),
    );
  });
});
