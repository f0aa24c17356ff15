/** @isolated The suite compares functions by their constructor. */
import { readFileSync } from 'node:fs';
import {
  buildSchema,
  execute,
  getOperationAST,
  getVariableValues,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isScalarType,
  parse,
} from 'graphql';
import { Compiler } from './operations.js';
import type { CompiledQuery } from '../http/request-state.js';
import type { Operation } from '../analysis/operation.js';
import { unfoldOperation } from '../analysis/unfold-operation.js';
import type { RequestContext } from '../http/request-context.js';

const schema = buildObservedSchema();
/** Arguments of the resolver calls. */
const seen: unknown[] = [];
const CONTEXT = {} as RequestContext;
const fields = (count: number) =>
  Array.from({ length: count }, (_, index) => `a${index}: __typename`).join(' ');

/** The schema with resolvers that record their calls. */
function buildObservedSchema(): GraphQLSchema {
  const built = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const date = built.getType('DateTime');
  if (isScalarType(date)) date.parseValue = (text) => new Date(String(text));
  const observe: GraphQLFieldResolver<unknown, unknown> = (_source, given) => {
    seen.push({ ...given });
    return null;
  };
  for (const field of Object.values(built.getQueryType()?.getFields() ?? {})) field.resolve = observe;
  return built;
}

function unfold(text: string, operationName?: string): Operation {
  const document = parse(text);
  const definition = getOperationAST(document, operationName);
  if (!definition) throw new Error('There is no such operation');
  return unfoldOperation(schema, document, definition);
}

function coerce({ definition }: Operation, given: Record<string, unknown>): Record<string, unknown> {
  const { coerced } = getVariableValues(schema, definition.variableDefinitions ?? [], given);
  if (coerced === undefined) throw new Error('The variables do not fit');
  return coerced;
}

/** Returns the function for the second request with an operation. */
function findSecond(
  compiler: Compiler,
  operation: Operation,
  given: Record<string, unknown> = {},
): CompiledQuery | null {
  const coerced = coerce(operation, given);
  compiler.find(schema, operation, coerced);
  return compiler.find(schema, operation, coerced);
}

describe('an operation', () => {
  it('is compiled at its second request', () => {
    const compiler = new Compiler();
    const operation = unfold('{ __typename }');
    expect(compiler.find(schema, operation, {})).toBeNull();
    expect(compiler.find(schema, operation, {})?.(CONTEXT, {}, {})).toEqual({
      data: { __typename: 'Query' },
    });
  });

  it.each([
    ['of 500 fields', `{ ${fields(500)} }`],
    ['with an unusual alias', '{ constructor: __typename }'],
  ])('%s is compiled', (_, text) => {
    expect(findSecond(new Compiler(), unfold(text))).toBeInstanceOf(Function);
  });

  it.each([
    ['of more fields', `{ ${fields(501)} }`],
    ['of more fields through fragments', `{ ...F ...F ...F } fragment F on Query { ${fields(200)} }`],
    ['with the alias __proto__', '{ __proto__: __typename }'],
    ['about the schema', '{ __schema { description } }'],
    ['about a type, in a fragment,', '{ ...F } fragment F on Query { __type(name: "User") { name } }'],
    ['with a mutation', 'mutation { __typename }'],
  ])('%s is not', (_, text) => {
    expect(findSecond(new Compiler(), unfold(text))).toBeNull();
  });

  it('has at most eight functions for all its conditions', () => {
    const names = ['a', 'b', 'c', 'd'];
    const selections = names.map((name) => `${name}: __typename @include(if: $${name})`).join(' ');
    const operation = unfold(
      `query (${names.map((name) => `$${name}: Boolean!`).join(' ')}) { ${selections} }`,
    );
    const compiler = new Compiler();
    const found = Array.from({ length: 16 }, (_, bits) => {
      const variables = Object.fromEntries(names.map((name, index) => [name, (bits & (1 << index)) > 0]));
      return findSecond(compiler, operation, variables);
    });
    expect(found.filter((query) => query !== null)).toHaveLength(8);
  });

  it('is compiled without the fragments of others', () => {
    const text =
      'query A { __typename } query B($b: Boolean!) { ...F } fragment F on Query { __typename @skip(if: $b) }';
    expect(findSecond(new Compiler(), unfold(text, 'A'))?.(CONTEXT, {}, {})).toEqual({
      data: { __typename: 'Query' },
    });
  });

  it('is not compiled if a condition depends on null, even if it is not reached', () => {
    const text =
      'query ($v: Boolean = true) { __typename ... @skip(if: true) { ...F } } fragment F on Query { a: __typename @skip(if: $v) }';
    expect(findSecond(new Compiler(), unfold(text), { v: null })).toBeNull();
  });

  it.each([
    [
      '($order: GroupOrder) { groups(first: 1, orderBy: $order) { totalCount } }',
      { order: { direction: 'DESC' } },
    ],
    ['($order: GroupOrder = {direction: DESC}) { groups(first: 1, orderBy: $order) { totalCount } }', {}],
    [
      '($since: DateTime = "2020-01-01T00:00:00Z") { users(last: 1, filter: {updatedSince: $since}) { totalCount } }',
      {},
    ],
    ['($since: DateTime) { users(last: 1, filter: {updatedSince: $since}) { totalCount } }', {}],
    ['($since: DateTime) { users(last: 1, filter: {updatedSince: $since}) { totalCount } }', { since: null }],
    [
      '($filter: UserFilter) { users(last: 1, filter: $filter) { totalCount } }',
      { filter: { role: { is: 'ADMIN' } } },
    ],
    [
      '($strict: Boolean) { users(last: 1, filter: {role: {is: ADMIN, strict: $strict}}) { totalCount } }',
      {},
    ],
    [
      '($strict: Boolean) { users(last: 1, filter: {role: {is: ADMIN, strict: $strict}}) { totalCount } }',
      { strict: true },
    ],
    [
      '($kinds: [SearchKind!]) { search(first: 1, query: "a", kinds: $kinds) { totalCount } }',
      { kinds: 'USER' },
    ],
    [
      '($kind: SearchKind!) { search(first: 1, query: "a", kinds: [USER, $kind]) { totalCount } }',
      { kind: 'GROUP' },
    ],
    ['($after: String) { groups(first: 1, after: $after) { totalCount } }', {}],
    ['($dry: Boolean) { rateLimit(dryRun: $dry) { cost } }', {}],
    ['($dry: Boolean) { rateLimit(dryRun: $dry) { cost } }', { dry: null }],
    ['($id: String!) { group(group: {id: $id}) { id } }', { id: '"\\\u2028' }],
  ])('passes the same arguments to resolvers as graphql-js: query%s', async (text, variables) => {
    const operation = unfold(`query ${text}`);
    const { document } = operation;
    const compiled = findSecond(new Compiler(), operation, variables);
    seen.length = 0;
    await execute({ schema, document, contextValue: CONTEXT, variableValues: variables });
    await compiled?.(CONTEXT, coerce(operation, variables), variables);
    expect(seen).toHaveLength(2);
    expect(structuredClone(seen[1])).toStrictEqual(structuredClone(seen[0]));
  });
});
