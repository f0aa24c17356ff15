import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { configProblems, readConfig } from '../config.js';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { builtInConfig, NO_SAMPLE } from '../../../test/support/builders/built-in-config.js';
import { modelJsonSchema } from './model.schema.js';
import { checkModel, readModel } from './read-model.js';

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

const FIELD = 'attribute: x, description: A field.,';
const field = (rest: string) => problemsIn(`users: {fields: {own: {${FIELD} ${rest}}}}`);

const EXAMPLE = `
server: openldap
users:
  base: [ou=people, ou=staff]
  filter: (objectClass=inetOrgPerson)
  id: uid
  name: [displayName, cn]
  disabled: (nsAccountLock=TRUE)
  fields:
    email: mail
    phone:
      attribute: telephoneNumber
      type: String
      description: Phone number at work.
      access: contact
      visibleTo: groupAdmins
      filterable: true
    mobiles:   {attribute: mobile, type: "[String!]!", access: contact, description: Mobile phones.}
    employeeNumber: {attribute: employeeNumber, type: Int, access: directory, filterable: true, description: The number.}
    manager:   {attribute: manager, type: User, reverse: reports, description: The manager.}
groups:
  base: ou=groups
  members: {attribute: member, by: dn}
  admins:  {attribute: groupAdmin, by: dn}
  owners:  {attribute: owner, by: dn}
  fields:
    room: {attribute: roomNumber, type: String, editable: true, personal: false, description: The room.}
scopes:
  contact: Phone numbers and addresses.
  confidential: People, groups and members that are hidden from others.
visibility:
  bypass: confidential
  users:   [{where: (employeeType=hidden), to: groupAdmins}]
  groups:  [{where: (businessCategory=secret), to: members}]
  members: [{where: (businessCategory=private), to: members}]
`;

describe('a model file', () => {
  it('becomes the mapping, the rules and the scopes', () => {
    const { directory, scopes } = readConfig(modelSetting(EXAMPLE));
    const { users, groups } = directory.mapping;
    expect(users).toMatchObject({
      bases: ['ou=people,dc=example,dc=org', 'ou=staff,dc=example,dc=org'],
      disabled: '(nsAccountLock=TRUE)',
      name: ['displayName', 'cn'],
    });
    const own = users.fields.slice(-4);
    expect(own).toEqual([
      {
        name: 'phone',
        storedAs: 'phone:String:Egt2GB',
        type: 'String',
        description: 'Phone number at work.',
        attributes: ['telephoneNumber'],
        attribute: 'telephoneNumber',
        reader: 'line',
        column: null,
        match: 'phone',
        scopes: ['contact'],
        visibleTo: 'groupAdmins',
        isFilterable: true,
      },
      expect.objectContaining({ name: 'mobiles', reader: 'line', type: '[String!]!' }),
      expect.objectContaining({ name: 'employeeNumber', reader: 'integer', scopes: ['directory'] }),
      expect.objectContaining({ reader: 'reference', reference: { to: 'user', reverse: 'reports' } }),
    ]);
    expect(groups.fields.at(-1)).toMatchObject({
      reader: 'text',
      isPersonal: false,
      change: { label: 'room', by: 'owner', isRemovable: true },
    });
    expect(directory.visibility).toEqual({ bypass: 'confidential' });
    expect(directory.mapping).toMatchObject({
      users: { rules: [{ where: '(employeeType=hidden)', to: 'groupAdmins' }] },
      groups: {
        rules: [{ where: '(businessCategory=secret)', to: 'members' }],
        memberRules: [{ where: '(businessCategory=private)', to: 'members' }],
      },
    });
    expect(scopes.map(({ name }) => name)).toEqual([
      ...['profile', 'read', 'directory', 'write'],
      ...['contact', 'confidential'],
    ]);
  });

  it('changes nothing if it is empty', () => {
    const { directory, scopes } = readConfig({ ...NO_SAMPLE, ...modelSetting('# only a comment\n') });
    const built = builtInConfig();
    expect([directory, scopes]).toEqual([built.directory, built.scopes]);
  });

  it('is valid where the documentation shows one', () => {
    const page = readFileSync('docs/model.md', 'utf8');
    const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, yaml = '']) => yaml);
    expect(examples.length).toBeGreaterThan(1);
    expect(examples.flatMap(problemsIn)).toEqual([]);
  });

  it('is valid by the published JSON Schema, and with a mistake it is not', () => {
    const validate = new Ajv2020({ strict: false }).compile(modelJsonSchema() as object);
    const value = checkModel(EXAMPLE).value as { users: object };
    expect(validate(value)).toBe(true);
    expect(validate({ ...value, users: { ...value.users, filterr: '(a=b)' } })).toBe(false);
    const sample = checkModel(readFileSync('sample/model.yaml', 'utf8'));
    expect([validate(sample.value), sample.problems]).toEqual([true, []]);
  });
});

describe('the problems of a model file', () => {
  it.each([
    ['malformed YAML', 'users: {base: ou=people', /^1:\d+ the YAML is malformed: /],
    [
      'a duplicate key',
      'users:\n  id: uid\n  id: cn\n',
      /^3:3 the YAML is malformed: Map keys must be unique$/,
    ],
    [
      'an alias without an anchor',
      'users: *x',
      /^1:1 the YAML is malformed: Unresolved alias \(the anchor must be set before the alias\): x$/,
    ],
    ['no map', '[]', /^1:1 the file: Invalid input: expected object, received array$/],
    ['an unknown key', 'users:\n  filtr: (a=b)', /^2:3 users\.filtr: unknown key\. Did you mean filter\?$/],
    ['another unknown key', 'zebra: 1', /^1:1 zebra: unknown key\. Known: server, /],
    [
      'a key of a field',
      'users: {fields: {own: {atribute: x}}}',
      /users\.fields\.own\.atribute: unknown key\. Did you mean attribute\?/,
    ],
    [
      'an unknown preset',
      'server: exchange',
      /^1:9 server: Invalid option: expected one of "openldap"\|"freeipa"\|/,
    ],
    [
      'an attribute that is none',
      'users:\n  id: no name',
      /^2:7 users\.id: expected the name of an LDAP attribute$/,
    ],
    [
      'one of several attributes',
      'users: {name: [cn, 3]}',
      /^1:20 users\.name\.1: expected the name of an LDAP attribute/,
    ],
    ['an attribute of another type', 'users: {id: {a: b}}', /^1:13 users\.id: expected the name/],
    ['no attributes', 'users: {name: []}', /^1:15 users\.name: Too small: /],
    [
      'a base that is no DN',
      'groups: {base: [ou=groups, clubs]}',
      /^1:28 groups\.base\.1: invalid DN: expected an attribute type and "=" at character 1$/,
    ],
    ['a filter that does not parse', 'groups: {filter: "(x"}', /^1:18 groups\.filter: invalid filter: /],
    [
      'a filter of a rule',
      'visibility: {users: [{where: "(x", to: self}]}',
      /^1:30 visibility\.users\.0\.where: invalid filter: /,
    ],
    [
      'an audience of a rule',
      'visibility: {users: [{where: (a=b), to: members}]}',
      /^1:41 visibility\.users\.0\.to: Invalid option: expected one of "groupAdmins"\|"self"$/,
    ],
    [
      'an audience of a group',
      'visibility: {groups: [{where: (a=b), to: self}]}',
      /expected one of "members"\|"admins"$/,
    ],
    [
      'names of members',
      'groups: {members: {attribute: member, by: name}}',
      /^1:43 groups\.members\.by: .* one of "dn"\|"id"\|"uuid"$/,
    ],
    [
      'names of members in a list of forms',
      'groups: {members: [{attribute: member}, {attribute: memberUid, by: name}]}',
      /^1:68 groups\.members\.1\.by: .* one of "dn"\|"id"\|"uuid"$/,
    ],
    [
      'two forms with the same names',
      'groups: {owners: [{attribute: owner}, {attribute: managedBy, by: dn}]}',
      /^1:18 groups\.owners: has two forms with the same by/,
    ],
    [
      'an attribute in two forms',
      'groups: {members: [{attribute: member}, {attribute: [memberUid, Member], by: id}]}',
      /^1:19 groups\.members: has two forms with .* the same attribute$/,
    ],
    [
      'credentials in a form',
      'groups: {members: [{attribute: member}, {attribute: userPassword, by: id}]}',
      /^1:53 groups\.members\.1\.attribute: an attribute that holds credentials/,
    ],
    ['no form', 'groups: {members: []}', /^1:19 groups\.members: Too small: /],
    [
      'members that are no map',
      'groups: {members: member}',
      /^1:19 groups\.members: expected {attribute: member, by: dn}/,
    ],
    [
      'a scope that does not exist',
      `users: {fields: {own: {${FIELD} type: Int, access: drectory}}}`,
      /users\.fields\.own\.access: unknown scope\. Did you mean directory\?/,
    ],
    [
      'a bypass that does not exist',
      'visibility: {bypass: secret}',
      /^1:22 visibility\.bypass: unknown scope\. Known: $/,
    ],
    ['a built-in scope', 'scopes: {read: Reads.}', /^1:10 scopes\.read: a built-in scope, one of /],
    [
      'a scope of OpenID Connect',
      'scopes: {email: Reads.}',
      /^1:10 scopes\.email: a built-in scope, one of OpenID Connect/,
    ],
    [
      'a scope with a space',
      'scopes: {"a b": Reads.}',
      /^1:10 scopes\.a b: expected the name of a scope \(RFC 6749/,
    ],
    [
      'a scope without description',
      'scopes: {contact: }',
      /^1:\d+ scopes\.contact: Invalid input: expected string/,
    ],
    [
      'a name of GraphQL',
      `users: {fields: {__own: {${FIELD} type: Int}}}`,
      /^1:18 users\.fields\.__own: expected a name for a GraphQL field/,
    ],
    [
      'a name with a dash',
      `users: {fields: {custom-field: {${FIELD} type: Int}}}`,
      /expected a name for a GraphQL field/,
    ],
    [
      'a computed field',
      `users: {fields: {groups: {${FIELD} type: Int}}}`,
      /^1:18 users\.fields\.groups: a name of the built-in schema or of the service/,
    ],
    [
      'a property of the code',
      `groups: {fields: {then: {${FIELD} type: Int}}}`,
      /^1:19 groups\.fields\.then: a name of the built-in schema/,
    ],
    [
      'a built-in field with a type',
      `users: {fields: {email: {${FIELD} type: Int}}}`,
      /^1:18 users\.fields\.email: a built-in field: expected only its attribute/,
    ],
    [
      'the id among the fields',
      'users: {fields: {id: uid}}',
      /^1:18 users\.fields\.id: not read from an attribute by fields/,
    ],
    ['a built-in field with a typing error', 'users: {fields: {emial: mail}}', /Did you mean email\?$/],
    [
      'a custom field that is too short',
      'users: {fields: {phone: telephoneNumber}}',
      /^1:18 users\.fields\.phone: expected .* for a custom field\. /,
    ],
    [
      'a field without a description',
      'users: {fields: {own: {attribute: x, type: Int}}}',
      /^1:\d+ users\.fields\.own\.description: Invalid input: expected string/,
    ],
  ])('include %s', (_, yaml, expected) => {
    expect(problemsIn(yaml)).toContainEqual(expect.stringMatching(expected));
  });

  it.each([
    ['an unknown type', 'type: Text', /users\.fields\.own\.type: expected String, Int/],
    [
      'an audience',
      'type: Int, visibleTo: admins',
      /visibleTo: .* one of "everyone"\|"groupAdmins"\|"self"$/,
    ],
    [
      'a filter of a list',
      'type: "[Int!]!", filterable: true',
      /own\.filterable: not possible with the type \[Int!\]!/,
    ],
    [
      'a filter of a reference',
      'type: User, filterable: true',
      /own\.filterable: not possible with the type User/,
    ],
    [
      'a search of a number',
      'type: Int, searchable: true',
      /own\.searchable: not possible with the type Int/,
    ],
    ['a search that reveals', 'type: String, searchable: true, access: directory', /would reveal the values/],
    [
      'a search that reveals to others',
      'type: String, searchable: true, visibleTo: self',
      /would reveal the values/,
    ],
    ['a change of a list', 'type: "[String!]!", editable: true', /own\.editable: not possible with the type/],
    [
      'a change that reveals',
      'type: Int, visibleTo: self, editable: true',
      /^1:\d+ .*editable: would show the old value/,
    ],
    [
      'a reverse of no reference',
      'type: String, reverse: others',
      /reverse: not possible with the type String/,
    ],
    [
      'a reverse with a built-in name',
      'type: User, reverse: groups',
      /own\.reverse: a name of the built-in schema/,
    ],
    [
      'a reverse with the name of a field',
      'type: User, reverse: own',
      /own\.reverse: the name of another field or reverse of users/,
    ],
    ['a flag', 'type: Int, filterable: maybe', /filterable: Invalid input: expected boolean/],
  ])('include, of a field, %s', (_, rest, expected) => {
    expect(field(rest)).toEqual([expect.stringMatching(expected)]);
  });

  it('include a reverse name that two fields use', () => {
    const yaml = `
users:
  fields:
    manager: {${FIELD} type: User, reverse: reports}
groups:
  fields:
    contact: {${FIELD} type: User, reverse: reports}
`;
    expect(problemsIn(yaml)).toEqual([
      expect.stringMatching(/^7:\d+ groups\.fields\.contact\.reverse: the name of another/),
    ]);
  });

  it('are listed together, sorted by place, also those between valid parts', () => {
    const file = modelSetting(`
users:
  id: no name
  fields:
    groups: {attribute: x, type: Int, description: D.}
    own: {attribute: x, type: Int, description: D., access: nobody}
    broken: {attribute: x, type: Integer}
scopes: {read: Reads.}
`).DIRECTORY_MODEL;
    const problems = readModel(file).problems;
    expect(problems.map((problem) => problem.slice(file.length).split(' ').slice(0, 3).join(' '))).toEqual([
      ':3:7: users.id: expected',
      ':5:5: users.fields.groups: a',
      ':6:61: users.fields.own.access: unknown',
      ':7:5: users.fields.broken.description: Invalid',
      ':7:34: users.fields.broken.type: expected',
      ':8:10: scopes.read: a',
    ]);
  });

  it('come together with those of the settings, and name a file that cannot be used', () => {
    const { DIRECTORY_MODEL } = modelSetting('users: 1');
    expect(configProblems(() => readConfig({ DIRECTORY_MODEL, PORT: 'x' }))).toEqual([
      expect.stringMatching(/^PORT /),
      `${DIRECTORY_MODEL}:1:8: users: Invalid input: expected object, received number`,
    ]);
  });

  it('are found in bounded time in a file that only costs time', () => {
    const anchors = Array.from({ length: 9 }, (_, index) =>
      index === 0 ? 'a0: &a0 [x, x]' : `a${index}: &a${index} [${`*a${index - 1},`.repeat(9)}]`,
    );
    expect(problemsIn(anchors.join('\n'))).toEqual([
      expect.stringMatching(/^1:1 the YAML is malformed: Excessive alias count /),
    ]);
    expect(problemsIn('a: &x [*x]')).toEqual([expect.stringMatching(/a: unknown key/)]);
    expect(problemsIn(Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join('\n'))).toHaveLength(
      5_000,
    );
    expect(problemsIn(`users: ${'['.repeat(40_000)}`).length).toBeGreaterThan(0);
  });
});
