import { readFileSync } from 'node:fs';
import { buildSchema, type GraphQLSchema, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { reservedNames } from '../../src/config/model/read-model.js';

/** The types that have the fields of a model, and the inputs that have their filters and changes. */
const TYPES = {
  users: [
    'User',
    'Profile',
    'Person',
    'UserFilter',
    'UserMemberFilter',
    'UpdateUserInput',
    'UpdateProfileInput',
  ],
  groups: ['Group', 'GroupFilter', 'CreateGroupInput', 'UpdateGroupInput'],
} as const;

describe('the names that fields of a model cannot have', () => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));

  it.each(['users', 'groups'] as const)('include all of the schema for %s', (kind) => {
    const names = new Set(TYPES[kind].flatMap((type) => fieldsOf(schema, type)));
    expect([...names].filter((name) => !reservedNames(kind).includes(name))).toEqual([]);
  });
});

function fieldsOf(schema: GraphQLSchema, name: string): string[] {
  const type = schema.getType(name);
  if (!isObjectType(type) && !isInputObjectType(type) && !isInterfaceType(type))
    throw new Error(`There is no ${name}`);
  return Object.keys(type.getFields());
}
