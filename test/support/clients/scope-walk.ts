import { readFileSync } from 'node:fs';
import { buildSchema, getDirectiveValues, type GraphQLDirective, isObjectType } from 'graphql';
import type { Scope } from '../../../src/auth/principal.js';
import { buildLdif } from '../builders/directory.js';

/**
 * The outcome of each mutation of a user, by its arguments and by what the token can read besides `write`: nothing, the own
 * profile, users and groups (`read`), everything (`directory`). The group `inner` is the user's own, the group `far` is not;
 * `anna` is the user, `mia` another one. Other ids do not exist.
 *
 * - `ok`: a payload;
 * - `withheld`: the scopes of the field are missing;
 * - `unreadable`: INSUFFICIENT_SCOPE, whether the argument's object exists or not;
 * - otherwise an error code.
 */
const NAMING_TABLE = `
                                                              nothing     profile     read        directory
updateProfile(name: "Ann")                                    withheld    ok          withheld    withheld
updateUser(user: {id: "mia"}, name: "M")                      withheld    withheld    withheld    ok
updateUser(user: {id: "nobody"}, name: "M")                   withheld    withheld    withheld    NOT_FOUND
createGroup(id: "new", name: "New")                           ok          ok          ok          ok
createGroup(id: "new", name: "New", parent: {id: "inner"})    unreadable  ok          ok          ok
createGroup(id: "new", name: "New", parent: {id: "far"})      unreadable  NOT_FOUND   FORBIDDEN   ok
createGroup(id: "new", name: "New", parent: {id: "nothing"})  unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
updateGroup(group: {id: "inner"}, name: "In")                 unreadable  ok          ok          ok
updateGroup(group: {id: "far"}, name: "Near")                 unreadable  NOT_FOUND   FORBIDDEN   ok
updateGroup(group: {id: "nothing"}, name: "Near")             unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
deleteGroup(group: {id: "zoo"})                               unreadable  ok          ok          ok
deleteGroup(group: {id: "far"})                               unreadable  NOT_FOUND   FORBIDDEN   ok
deleteGroup(group: {id: "nothing"})                           unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
addGroupMember(group: {id: "inner"}, user: {id: "mia"})       unreadable  unreadable  ok          ok
addGroupMember(group: {id: "inner"}, user: {id: "nobody"})    unreadable  unreadable  NOT_FOUND   NOT_FOUND
addGroupMember(group: {id: "inner"}, user: {id: "anna"})      unreadable  CONFLICT    CONFLICT    CONFLICT
addGroupMember(group: {id: "far"}, user: {id: "anna"})        unreadable  NOT_FOUND   FORBIDDEN   ok
addGroupMember(group: {id: "nothing"}, user: {id: "anna"})    unreadable  NOT_FOUND   NOT_FOUND   NOT_FOUND
updateGroupMember(group: {id: "inner"}, user: {id: "anna"}, role: ADMIN)    unreadable  ok          ok         ok
updateGroupMember(group: {id: "inner"}, user: {id: "zoe"}, role: ADMIN)     unreadable  unreadable  ok         ok
updateGroupMember(group: {id: "inner"}, user: {id: "nobody"}, role: ADMIN)  unreadable  unreadable  NOT_FOUND  NOT_FOUND
updateGroupMember(group: {id: "far"}, user: {id: "anna"}, role: ADMIN)      unreadable  NOT_FOUND   FORBIDDEN  NOT_FOUND
updateGroupMember(group: {id: "nothing"}, user: {id: "anna"}, role: ADMIN)  unreadable  NOT_FOUND   NOT_FOUND  NOT_FOUND
removeGroupMember(group: {id: "inner"}, user: {id: "anna"})    unreadable  ok          ok         ok
removeGroupMember(group: {id: "inner"}, user: {id: "zoe"})     unreadable  unreadable  ok         ok
removeGroupMember(group: {id: "inner"}, user: {id: "nobody"})  unreadable  unreadable  NOT_FOUND  NOT_FOUND
removeGroupMember(group: {id: "far"}, user: {id: "anna"})      unreadable  NOT_FOUND   FORBIDDEN  NOT_FOUND
removeGroupMember(group: {id: "nothing"}, user: {id: "anna"})  unreadable  NOT_FOUND   NOT_FOUND  NOT_FOUND
`;

export const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
const accessDirective = schema.getDirective('access') as GraphQLDirective;

/** The scopes that fields require, by `Type.field`. */
export const NEEDED: Partial<Record<string, readonly Scope[]>> = Object.fromEntries(
  Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) =>
      Object.values(type.getFields()).flatMap(({ name, astNode }): [string, Scope[]][] => {
        const access = astNode ? getDirectiveValues(accessDirective, astNode) : undefined;
        return access === undefined ? [] : [[`${type.name}.${name}`, access['scopes'] as Scope[]]];
      }),
    ),
);

/** What a token can read besides its scope `write`. */
export const READING = ['nothing', 'profile', 'read', 'directory'] as const;

export interface NamingOutcomes {
  readonly mutation: string;
  readonly outcomes: Readonly<Record<(typeof READING)[number], string>>;
}

/** The outcome of mutations, by their arguments. */
export const NAMINGS: readonly NamingOutcomes[] = linesOf(NAMING_TABLE)
  .slice(1)
  .map((line) => {
    const [, field = '', given = '', outcomes = ''] = /^(\w+)\((.*)\)\s+(.*)$/.exec(line) ?? [];
    const [nothing = '', profile = '', read = '', directory = ''] = outcomes.split(/\s+/);
    return { mutation: `${field}(input: {${given}})`, outcomes: { nothing, profile, read, directory } };
  });

function linesOf(table: string): string[] {
  return table
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim());
}

/** Mutations are visited by name: members are added before they are removed. */
const ARGUMENTS: Partial<Record<string, string>> = {
  'Query.group': 'group: {id: "middle"}',
  // Which scopes objects need is only known when they are read: test/api/node.postgres-spec.ts.
  'Query.node': 'nodeId: "unknown"',
  'Query.nodes': 'nodeIds: ["unknown"]',
  'Query.user': 'user: {id: "anna"}',
  'Query.isMember': 'user: {id: "anna"}, group: {id: "outer"}',
  // After a first run, the last ones are about users who joined the group.
  'Query.changes': 'last: 3, filter: {group: {id: "middle"}}',
  'Query.search': 'query: "middle", first: 2',
  'Mutation.updateProfile': 'input: {name: "Ann"}',
  'Mutation.updateUser': 'input: {user: {id: "mia"}, name: "Mia M."}',
  'Mutation.createGroup': 'input: {id: "new", name: "New", parent: {id: "inner"}}',
  'Mutation.updateGroup': 'input: {group: {id: "inner"}, name: "In"}',
  'Mutation.deleteGroup': 'input: {group: {id: "zoo"}}',
  'Mutation.addGroupMember': 'input: {group: {id: "inner"}, user: {id: "mia"}}',
  'Mutation.updateGroupMember': 'input: {group: {id: "inner"}, user: {id: "zoe"}, role: ADMIN}',
  'Mutation.removeGroupMember': 'input: {group: {id: "inner"}, user: {id: "mia"}}',
};

/** Returns arguments with which a field has a value. */
export function argumentsOf(coordinate: string): string | undefined {
  const [type = '', name = ''] = coordinate.split('.');
  const object = schema.getType(type);
  const isConnection =
    isObjectType(object) && object.getFields()[name]?.args.some((argument) => argument.name === 'first');
  // She inherits her role in all groups of the cycle.
  if (name === 'membership' && type.startsWith('Group')) return 'user: {id: "zora"}';
  // That of a payload has no arguments.
  if (name === 'membership' && !type.endsWith('Payload')) return 'group: {id: "outer"}';
  return ARGUMENTS[coordinate] ?? (isConnection === true ? 'first: 3' : undefined);
}

/** A directory in which every list has rows: groups contain each other in a cycle, and have members. */
export const LDIF = buildLdif(
  [
    { id: 'anna', name: 'Anna', givenName: 'Anna', email: 'anna@example.org', schoolYear: '1A' },
    { id: 'mia', name: 'Mia Middle', schoolYear: '2A' },
    { id: 'zoe', name: 'Zoë' },
    { id: 'zora', name: 'Zora' },
  ],
  [
    { id: 'outer', name: 'Outer', members: ['@middle', 'mia'] },
    { id: 'middle', name: 'Middle', members: ['@inner', '@small', 'anna'], owners: ['mia'] },
    { id: 'inner', name: 'Inner', members: ['@outer', 'zoe'], owners: ['anna'] },
    { id: 'small', name: 'Small', members: ['@outer', 'zora'] },
    { id: 'zoo', name: 'Zoo', members: ['zoe', 'mia'], owners: ['anna'] },
    { id: 'far', name: 'Far', members: ['mia'] },
  ],
);
