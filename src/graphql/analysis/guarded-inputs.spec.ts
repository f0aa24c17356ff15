import { buildSchema, getOperationAST, type GraphQLInputObjectType, isObjectType, parse } from 'graphql';
import type { Principal, Scope } from '../../auth/principal.js';
import { readConfig } from '../../config/config.js';
import { PolicyWalk } from './operation-policy.js';

const schema = buildSchema(`
  type Query { users(filter: Filter, ids: [Id!]): Page }
  type Page { nodes(filter: Filter): String, total: Int }
  input Filter { name: String, phone: String, manager: Id }
  type Mutation { updateUser(input: Change): Page }
  input Change { id: Id, phone: String }
  input Id { id: String, email: String }
`);
for (const [type, member] of [
  ['Filter', 'phone'],
  ['Id', 'email'],
  ['Change', 'phone'],
]) {
  const { extensions } =
    (schema.getType(type ?? '') as GraphQLInputObjectType).getFields()[member ?? ''] ?? {};
  Object.assign(extensions ?? {}, { access: { kind: 'scopes', scopes: ['write'] } });
}

for (const type of Object.values(schema.getTypeMap()).filter(isObjectType))
  for (const { extensions } of Object.values(type.getFields()))
    Object.assign(extensions, { access: { kind: 'public' } });
const config = readConfig({});

const principalWith = (...scopes: Scope[]): Principal => ({
  kind: 'ACCESS_TOKEN',
  countedAs: 'ada',
  scopes: new Set(scopes),
  clientId: null,
  subject: 'ada',
  serviceAccountId: null,
  expiresAt: null,
});

function check(query: string, variables: Record<string, unknown>, principal: Principal): void {
  const document = parse(query);
  const definition = getOperationAST(document);
  if (!definition) throw new Error('There is no operation');
  new PolicyWalk({ schema, document, definition, variables }, variables, principal, config).decide();
}

describe('an input that requires a scope', () => {
  it.each<[string, Record<string, unknown>?]>([
    ['{ users(filter: {phone: "1"}) { total } }'],
    ['{ users(filter: {manager: {email: "a"}}) { total } }'],
    ['{ users(ids: [{id: "1"}, {email: "a"}]) { total } }'],
    ['{ users(ids: {email: "a"}) { total } }'],
    ['{ users { nodes(filter: {phone: "1"}) } }'],
    ['query ($f: Filter) { users(filter: $f) { total } }', { f: { phone: '1' } }],
    ['query ($i: [Id!]) { users(ids: $i) { total } }', { i: [{ id: '1' }, { email: 'a' }] }],
    ['query ($p: String) { users(filter: {phone: $p}) { total } }', { p: '1' }],
    ['mutation { updateUser(input: {phone: "1"}) { total } }'],
    ['mutation { updateUser(input: {phone: null}) { total } }'],
    ['mutation ($p: String) { updateUser(input: {phone: $p}) { total } }', { p: null }],
    ['mutation ($c: Change) { updateUser(input: $c) { total } }', { c: { phone: null } }],
    [
      'query ($x: Boolean!) { users @include(if: $x) { ...F } } fragment F on Page { nodes(filter: {phone: ""}) }',
      { x: true },
    ],
  ])('is rejected without the scope: %s', (query, variables = {}) => {
    expect(() => {
      check(query, variables, principalWith('read'));
    }).toThrow('it needs the scope write');
    expect(() => {
      check(query, variables, principalWith('write'));
    }).not.toThrow();
  });

  it.each<[string, Record<string, unknown>?]>([
    ['{ users(filter: {name: "1"}, ids: [{id: "1"}]) { total } }'],
    ['{ users(filter: {phone: null}) { total } }'],
    ['query ($p: String) { users(filter: {phone: $p}) { total } }'],
    ['mutation ($p: String) { updateUser(input: {phone: $p}) { total } }'],
    ['mutation { updateUser(input: {id: null}) { total } }'],
    ['query ($x: Boolean!) { users(filter: {phone: "1"}) @include(if: $x) { total } }', { x: false }],
  ])('is not used: %s', (query, variables = {}) => {
    expect(() => {
      check(query, variables, principalWith('read'));
    }).not.toThrow();
  });
});
