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
      expect.objectContaining({ name: 'mobiles', reader: 'lines', type: '[String!]!' }),
      expect.objectContaining({ name: 'employeeNumber', reader: 'integer', scopes: ['directory'] }),
      expect.objectContaining({ reader: 'reference', reference: { to: 'user', reverse: 'reports' } }),
    ]);
    expect(groups.fields.at(-1)).toMatchObject({
      reader: 'text',
      isPersonal: false,
      change: { label: 'room', by: 'owner', isRemovable: true },
    });
    expect(directory.visibility).toEqual({
      bypass: 'confidential',
      users: [{ where: '(employeeType=hidden)', to: 'groupAdmins' }],
      groups: [{ where: '(businessCategory=secret)', to: 'members' }],
      members: [{ where: '(businessCategory=private)', to: 'members' }],
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
    const value = checkModel(EXAMPLE).yaml.value as { users: object };
    expect(validate(value)).toBe(true);
    expect(validate({ ...value, users: { ...value.users, filterr: '(a=b)' } })).toBe(false);
    const sample = checkModel(readFileSync('sample/model.yaml', 'utf8'));
    expect([validate(sample.yaml.value), sample.problems]).toEqual([true, []]);
  });
});

describe('the problems of a model file', () => {
  it.each([
    ['malformed YAML', 'users: {base: ou=people', /^1:\d+ The YAML is malformed: /],
    ['no map', '[]', /^1:1 the file is not a map/],
    ['an unknown key', 'users:\n  filtr: (a=b)', /^2:3 «filtr» in users is unknown\. Did you mean filter\?$/],
    [
      'an unknown preset',
      'server: exchange',
      /^1:9 server is not one of the possible values\. Write openldap, freeipa, /,
    ],
    [
      'an attribute that is none',
      'users:\n  id: no name',
      /^2:7 users\.id is not the name of an LDAP attribute\. Write a name/,
    ],
    ['no attributes', 'users: {name: []}', /^1:15 users\.name is empty\. Write at least one value$/],
    [
      'a base that is no DN',
      'groups: {base: [ou=groups, clubs]}',
      /^1:28 groups\.base\.1 is an invalid DN: expected an attribute type and "=" at character 1\. Write/,
    ],
    [
      'a filter that does not parse',
      'groups: {filter: "(x"}',
      /^1:18 groups\.filter is an invalid filter: .* Write a filter such as/,
    ],
    [
      'an audience of a rule',
      'visibility: {users: [{where: (a=b), to: members}]}',
      /^1:41 visibility\.users\.0\.to is not one of the possible values\. Write groupAdmins, self$/,
    ],
    ['an audience of a group', 'visibility: {groups: [{where: (a=b), to: self}]}', /Write members, admins$/],
    [
      'names of members',
      'groups: {members: {attribute: member, by: name}}',
      /^1:43 groups\.members\.by .* Write dn, id, uuid$/,
    ],
    [
      'two forms with the same names',
      'groups: {owners: [{attribute: owner}, {attribute: managedBy, by: dn}]}',
      /^1:18 groups\.owners has two forms with the same by\. Write one with a list of attributes$/,
    ],
    [
      'an attribute in two forms',
      'groups: {members: [{attribute: member}, {attribute: [memberUid, Member], by: id}]}',
      /^1:19 groups\.members reads an attribute in two ways\. Keep the form that fits its values$/,
    ],
    [
      'members that are no map',
      'groups: {members: member}',
      /^1:19 groups\.members is neither a map nor a list/,
    ],
    [
      'a scope that does not exist',
      `users: {fields: {own: {${FIELD} type: Int, access: drectory}}}`,
      /The scope «drectory» does not exist\. Did you mean directory\?/,
    ],
    [
      'a bypass that does not exist',
      'visibility: {bypass: secret}',
      /^1:22 The scope «secret» does not exist\. Declare it under scopes$/,
    ],
    [
      'a built-in scope',
      'scopes: {read: Reads.}',
      /^1:10 «read» in scopes is a built-in scope, one of .*\. Choose another name$/,
    ],
    [
      'a scope with a space',
      'scopes: {"a b": Reads.}',
      /^1:10 «a b» in scopes is not the name of a scope \(RFC 6749/,
    ],
    ['a scope without description', 'scopes: {contact: }', /^1:\d+ scopes\.contact is missing or no text/],
    [
      'a name of GraphQL',
      `users: {fields: {__own: {${FIELD} type: Int}}}`,
      /^1:18 «__own» in users\.fields is not a name for a GraphQL field/,
    ],
    [
      'a computed field',
      `users: {fields: {groups: {${FIELD} type: Int}}}`,
      /^1:18 «groups» is a name of the built-in schema or of the service/,
    ],
    [
      'a built-in field with a type',
      `users: {fields: {email: {${FIELD} type: Int}}}`,
      /^1:18 «email» is a built-in field of users\. Write only the attribute that it is read from: email: x\. For other keys, declare a custom field/,
    ],
    [
      'the id among the fields',
      'users: {fields: {id: uid}}',
      /^1:18 «id» is not read from an attribute by fields/,
    ],
    ['a built-in field with a typing error', 'users: {fields: {emial: mail}}', /Did you mean email\?$/],
    [
      'a custom field that is too short',
      'users: {fields: {phone: telephoneNumber}}',
      /^1:18 «phone» is a custom field, and needs more/,
    ],
    [
      'a field without a description',
      'users: {fields: {own: {attribute: x, type: Int}}}',
      /^1:23 users\.fields\.own\.description is missing\. Add it$/,
    ],
  ])('include %s', (_, yaml, expected) => {
    expect(problemsIn(yaml)).toContainEqual(expect.stringMatching(expected));
  });

  it.each([
    [
      'an unknown type',
      'type: Text',
      /users\.fields\.own\.type is not a type of fields\. Write one of String, Int/,
    ],
    [
      'an audience',
      'type: Int, visibleTo: admins',
      /visibleTo is not one of the possible values\. Write everyone, groupAdmins, self$/,
    ],
    [
      'a filter of a list',
      'type: "[Int!]!", filterable: true',
      /own\.filterable does not go with \[Int!\]!: only .* have a filter/,
    ],
    [
      'a filter of a reference',
      'type: User, filterable: true',
      /does not go with User: only .* have a filter/,
    ],
    ['a search of a number', 'type: Int, searchable: true', /does not go with Int: search finds only/],
    ['a search that reveals', 'type: String, searchable: true, access: directory', /would reveal the values/],
    [
      'a search that reveals to others',
      'type: String, searchable: true, visibleTo: self',
      /would reveal the values/,
    ],
    ['a change of a list', 'type: "[String!]!", editable: true', /which previews do not change/],
    ['a change that reveals', 'type: Int, visibleTo: self, editable: true', /^1:\d+ .* would show the value/],
    ['a reverse of no reference', 'type: String, reverse: others', /has no other side/],
    [
      'a reverse with a built-in name',
      'type: User, reverse: groups',
      /«groups» is a name of the built-in schema/,
    ],
    [
      'a reverse with the name of a field',
      'type: User, reverse: own',
      /«own» is the name of another field or reverse of users/,
    ],
    ['a flag', 'type: Int, filterable: maybe', /filterable is neither true nor false/],
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
    expect(problemsIn(yaml)).toEqual([expect.stringMatching(/^7:\d+ «reports» is the name of another/)]);
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
      ':3:7: users.id is',
      ':5:5: «groups» is',
      ':6:61: The scope',
      ':7:13: users.fields.broken.description is',
      ':7:34: users.fields.broken.type is',
      ':8:10: «read» in',
    ]);
    expect(problems.filter((problem) => !/[.?]$/.test(problem))).toEqual([]);
  });

  it('come together with those of the settings, and name a file that cannot be used', () => {
    const { DIRECTORY_MODEL } = modelSetting('users: 1');
    expect(configProblems(() => readConfig({ DIRECTORY_MODEL, PORT: 'x' }))).toEqual([
      expect.stringMatching(/^PORT /),
      `${DIRECTORY_MODEL}:1:8: users is not a map. Write keys and values, or remove the key.`,
    ]);
  });

  it('are found in bounded time in a file that only costs time', () => {
    const anchors = Array.from({ length: 9 }, (_, index) =>
      index === 0 ? 'a0: &a0 [x, x]' : `a${index}: &a${index} [${`*a${index - 1},`.repeat(9)}]`,
    );
    expect(problemsIn(anchors.join('\n'))).toEqual([
      expect.stringMatching(/^2:10 Excessive alias count .*\. Write the values out$/),
    ]);
    expect(problemsIn('a: &x [*x]')).toEqual([expect.stringMatching(/«a» in the file is unknown/)]);
    expect(problemsIn(Array.from({ length: 10_000 }, (_, index) => `k${index}: 1`).join('\n'))).toHaveLength(
      10_000,
    );
    expect(problemsIn(`users: ${'['.repeat(40_000)}`).length).toBeGreaterThan(0);
  });
});
