/** @isolated The suite adds to the tables of fields. */
import { type GraphQLSchema, isInputObjectType, isObjectType } from 'graphql';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import type { FieldDefinition } from '../../src/common/field.js';
import { readConfig } from '../../src/config/config.js';
import { MIGRATIONS } from '../../src/database/migrations/migrations.js';
import { GROUP_FIELDS } from '../../src/groups/group.fields.js';
import { searchesOf } from '../../src/sources/ldap/server-directory.js';
import { USER_FIELDS } from '../../src/users/user.fields.js';
import { buildLdif } from '../support/builders/directory.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const DESCRIPTION = 'A field that a test adds.';

/** A field with a column, and one in JSONB for both types. */
const ADDED: FieldDefinition[] = [
  {
    name: 'phone',
    type: 'String',
    description: DESCRIPTION,
    attributes: ['telephoneNumber'],
    reader: 'line',
    column: 'phone',
    isCarried: true,
    isSearchable: true,
    filter: 'The phone number.',
    change: { label: 'phone number', by: 'self', isRemovable: true },
  },
  {
    name: 'nickname',
    type: 'String',
    description: DESCRIPTION,
    attributes: ['nickName', 'shortName'],
    reader: 'label',
    column: null,
    isSearchable: true,
    filter: 'The nickname.',
    change: { label: 'nickname', by: 'administrator', isRemovable: true },
  },
  inJson('biography', 'String', 'text'),
  inJson('homepage', 'String', 'website'),
  inJson('isActive', 'Boolean', 'boolean'),
  inJson('hiredAt', 'DateTime', 'time'),
  inJson('managerDn', 'String', 'dn'),
  inJson('mobiles', '[String!]!', 'lines'),
  { ...inJson('badge', 'String', 'line'), scopes: ['directory'] },
];

function inJson(name: string, type: string, reader: FieldDefinition['reader']): FieldDefinition {
  return { name, type, description: DESCRIPTION, attributes: [name], reader, column: null };
}

/** The only migration, for the column. */
class Phone1763683299999 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users add phone text, add phone_compared text');
    await runner.query('alter table effective_memberships add user_phone text, add user_phone_compared text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table users drop phone, drop phone_compared');
    await runner.query('alter table effective_memberships drop user_phone, drop user_phone_compared');
  }
}

/** The user of the client `demo-basic`. */
const OWNER = 'ada.martin';

/** The values in the entry of the owner, and their representation in the API. */
const ATTRIBUTES: [attribute: string, value: string][] = [
  ['telephoneNumber', ' +41 44 555 01 02 '],
  ['shortName', 'countess'],
  ['biography', 'Wrote\nprograms'],
  ['homepage', 'https://ada.example.org Home'],
  ['isActive', 'TRUE'],
  ['hiredAt', '20240229080910Z'],
  ['managerDn', 'uid=ben,ou=people,dc=example,dc=org'],
  ['mobiles', '+41 79 2'],
  ['mobiles', '+41 79 1'],
  ['badge', 'B-7'],
];
const VALUES = {
  phone: '+41 44 555 01 02',
  nickname: 'countess',
  biography: 'Wrote\nprograms',
  homepage: 'https://ada.example.org',
  isActive: true,
  hiredAt: '2024-02-29T08:09:10.000Z',
  managerDn: 'uid=ben,ou=people,dc=example,dc=org',
  mobiles: ['+41 79 1', '+41 79 2'],
  badge: 'B-7',
};
const SELECTION = Object.keys(VALUES).join(' ');

function directory(attributes = ATTRIBUTES): string {
  const ldif = buildLdif(
    [{ id: OWNER }, { id: 'ben' }],
    [{ id: 'club', members: [OWNER, 'ben'], owners: [OWNER] }],
  );
  const [version = '', first = '', ...others] = ldif.split('\n\n');
  const lines = attributes.map(([name, value]) => `${name}:: ${Buffer.from(value).toString('base64')}`);
  const groups = others.map((each) => (each.includes('\ncn') ? `${each.trimEnd()}\nroom: A 1\n` : each));
  return [version, `${first}\n${lines.join('\n')}`, ...groups].join('\n\n');
}

describe('added fields', () => {
  let service: TestService;
  let schema: GraphQLSchema;
  let dataSource: DataSource;
  let administrator: string;
  /** Its statements read the tables through relations, which repeat the columns. */
  let limited: string;
  let person: string;

  beforeAll(async () => {
    USER_FIELDS.push(...ADDED);
    GROUP_FIELDS.push(inJson('room', 'String', 'line'));
    MIGRATIONS.push(Phone1763683299999);
    service = await TestService.start({ ldif: directory(), logged: true });
    await stopFollowing(service);
    ({ schema } = service.app.get(GraphQLSchemaHost));
    dataSource = service.app.get(DataSource);
    administrator = await service.serviceAccount('read', 'directory', 'write');
    limited = await service.limitedAccount(['club'], 'read', 'directory');
    person = await service.accessToken('profile read');
  });

  afterAll(() => service.stop());

  const sendRequest = (query: string, authorization = administrator) =>
    service.read(query, { authorization });

  function fieldsOf(name: string): string[] {
    const type = schema.getType(name);
    return isObjectType(type) || isInputObjectType(type) ? Object.keys(type.getFields()) : [];
  }

  it('are in the schema: types, filters and inputs', () => {
    const names = ADDED.map(({ name }) => name);
    for (const type of ['User', 'Profile']) expect(fieldsOf(type)).toEqual(expect.arrayContaining(names));
    expect(fieldsOf('Group')).toContain('room');
    for (const type of ['UserFilter', 'UserMemberFilter', 'UpdateUserInput'])
      expect(fieldsOf(type)).toEqual(expect.arrayContaining(['phone', 'nickname']));
    expect(fieldsOf('UpdateProfileInput')).toContain('phone');
    expect(fieldsOf('UpdateProfileInput')).not.toContain('nickname');
  });

  it('are requested from an LDAP server', () => {
    const { directory: config } = readConfig({ DIRECTORY_URL: 'ldap://directory.example.org' });
    const { person: people, group } = searchesOf(config.mapping, 'dc=example,dc=org');
    const attributes = ADDED.flatMap((field) => field.attributes);
    expect(people.attributes).toEqual(expect.arrayContaining(attributes));
    expect(group.attributes).toContain('room');
  });

  it('are mirrored, in a column or in JSONB', async () => {
    const [row] = await dataSource.query<{ phone: string; values: Record<string, unknown> }[]>(
      'select phone, field_values as values from users where id = $1',
      [OWNER],
    );
    const { phone, ...others } = VALUES;
    expect(row).toEqual({ phone, values: { ...others, 'nickname caseIgnore': 'countess' } });
    const [empty] = await dataSource.query<{ values: unknown }[]>(
      `select field_values as values from users where id = 'ben'`,
    );
    expect(empty).toEqual({ values: null });
  });

  it.each([
    ['user', `found: user(user: {id: "${OWNER}"}) { ${SELECTION} }`],
    [
      'user with groups',
      `found: user(user: {id: "${OWNER}"}) { ${SELECTION} groups(first: 1) { totalCount } }`,
    ],
    ['users', `found: users(first: 1) { nodes { ${SELECTION} } }`],
    [
      'users of a group',
      `found: users(first: 1, filter: {memberOf: {id: "club"}}) { nodes { ${SELECTION} } }`,
    ],
    [
      'members',
      `found: group(group: {id: "club"}) { members(first: 1) { nodes { user { ${SELECTION} } } } }`,
    ],
    ['search', `found: search(query: "countess", first: 5) { nodes { ... on User { ${SELECTION} } } }`],
    [
      'search by number',
      `found: search(query: "555 01", first: 5) { nodes { ... on User { ${SELECTION} } } }`,
    ],
    [
      'changes',
      `found: changes(first: 1, filter: {user: {id: "${OWNER}"}}) { nodes { user { ${SELECTION} } } }`,
    ],
    [
      'filter by column',
      `found: users(first: 5, filter: {phone: "${VALUES.phone}"}) { nodes { ${SELECTION} } }`,
    ],
    ['filter in JSONB', `found: users(first: 5, filter: {nickname: "countess"}) { nodes { ${SELECTION} } }`],
    [
      'filter of members',
      `found: group(group: {id: "club"}) { members(first: 5, filter: {phone: "${VALUES.phone}", nickname: "countess"}) { nodes { user { ${SELECTION} } } } }`,
    ],
  ])('are returned by %s', async (_, query) => {
    for (const authorization of [administrator, limited])
      expect(leafOf(await sendRequest(`{ ${query} }`, authorization))).toEqual(VALUES);
  });

  it('are returned by profile, and those with a scope only to tokens with it', async () => {
    const { badge, ...others } = VALUES;
    const names = Object.keys(others).join(' ');
    expect(await sendRequest(`{ profile { ${names} } }`, person)).toEqual({ profile: others });
    const { data, errors } = await service.query(`{ user(user: {id: "${OWNER}"}) { id badge } }`, {
      authorization: person,
    });
    expect(data).toEqual({ user: { id: OWNER, badge: null } });
    expect(badge).toBe('B-7');
    expect(errors.map(({ extensions: { code } }) => code)).toEqual(['INSUFFICIENT_SCOPE']);
  });

  it('are in the report of a dry run, and a change of a value is a change of the user', async () => {
    const changed = ATTRIBUTES.map(([name, value]): [string, string] =>
      name === 'shortName' ? [name, 'lady'] : [name, value],
    );
    service.replaceDirectory(directory(changed.filter(([name]) => name !== 'mobiles')));
    const planned = await service.synchronize({ dryRun: true });
    if (planned.kind !== 'planned') throw new Error(`It was ${planned.kind}`);
    expect(planned.changes.entries).toEqual([
      expect.objectContaining({ change: 'updated', id: OWNER, fields: ['nickname', 'mobiles'] }),
    ]);
    expect(await service.synchronize()).toMatchObject({ kind: 'applied' });
    const { changes } = (await sendRequest(
      `{ changes(first: 10, filter: {kinds: [USER_UPDATED]}) { nodes { userId user { nickname mobiles } } } }`,
    )) as { changes: { nodes: unknown[] } };
    expect(changes.nodes).toEqual([{ userId: OWNER, user: { nickname: 'lady', mobiles: [] } }]);
  });
});

/** The innermost object of a response with one path. */
function leafOf(value: unknown): unknown {
  const [, ...selected] = SELECTION.split(' ');
  if (typeof value !== 'object' || value === null || selected.every((name) => name in value)) return value;
  const [first] = Object.values(value) as unknown[];
  const found = Array.isArray(first) ? onlyOf(first) : first;
  if (found !== null && typeof found === 'object' && 'totalCount' in found) return value;
  const leaf = leafOf(found);
  if (typeof leaf !== 'object' || leaf === null) return leaf;
  const { groups, ...others } = leaf as Record<string, unknown>;
  return groups === undefined ? leaf : others;
}

function onlyOf(list: unknown[]): unknown {
  expect(list).toHaveLength(1);
  return list[0];
}
