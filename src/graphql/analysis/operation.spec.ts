import { buildSchema, getIntrospectionQuery, Kind, parse } from 'graphql';
import { ServiceError } from '../../common/errors.js';
import type { Operation } from './operation.js';
import { unfoldOperation } from './unfold-operation.js';

const schema = buildSchema(
  'type Query { found: Found } union Found = A | B type A { id: ID } type B { id: ID }',
);

/** Fragments, each of which spreads the next one twice. */
function doubling(levels: number, type: string, inside: string): string {
  const fragments = Array.from(
    { length: levels },
    (_, at) => `fragment F${at} on ${type} { ...F${at + 1} ...F${at + 1} }`,
  );
  return [...fragments, `fragment F${levels} on ${type} { ${inside} }`].join('\n');
}

function operationOf(text: string): Operation {
  const document = parse(text);
  const definition = document.definitions.find((each) => each.kind === Kind.OPERATION_DEFINITION);
  if (definition === undefined) throw new Error('There is no operation');
  return unfoldOperation(schema, document, definition);
}

function size(text: string): number {
  return operationOf(text).size;
}

/** Returns the number of fields, or the code of the rejection. */
function unfold(text: string): number | string {
  try {
    return operationOf(text).fieldCount;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
}

describe('an operation that selects the schema', () => {
  it.each([
    '{ __schema { types { name } } __schema { types { kind } } }',
    '{ a: __type(name: "A") { name } b: __type(name: "B") { name } }',
    getIntrospectionQuery(),
  ])('is accepted: %#', (text) => {
    expect(unfold(text)).toEqual(expect.any(Number));
  });

  it.each([
    '{ a: __schema { types { name } } b: __schema { types { name } } }',
    '{ __schema { a: types { name } } }',
    '{ __type(name: "A") { fields { ...F } } } fragment F on __Field { ... { a: name } }',
    '{ ...F } fragment F on Query { a: __schema { ...G } ...H } fragment G on __Schema { types { name } } fragment H on Query { b: __schema { ...G } }',
  ])('is rejected if aliases repeat it: %s', (text) => {
    expect(unfold(text)).toBe('QUERY_TOO_COMPLEX');
  });
});

describe('an operation with many conditions', () => {
  it('is rejected if fragments repeat them too often', () => {
    const open = '... @include(if: true) @skip(if: false) { '.repeat(40);
    const text = `{ ${open} ...F0 ${'}'.repeat(40)} } ${doubling(11, 'Query', '__typename @include(if: true)')}`;
    expect(unfold(text)).toBe('QUERY_TOO_COMPLEX');
  });

  it('is stored with its size in memory', () => {
    expect(size('{ found { __typename } }')).toBeLessThan(20);
    const chain = doubling(8, 'Found', '... on A { id }');
    expect(size(`{ found { ...F0 } } ${chain}`)).toBeGreaterThan(256);
  });
});

describe('an operation whose fragments double', () => {
  it('is accepted while it has few fields', () => {
    expect(unfold(`{ ...F0 } ${doubling(5, 'Query', '__typename')}`)).toBe(32);
  });

  it('is rejected if it has too many fields', () => {
    expect(unfold(`{ ...F0 } ${doubling(20, 'Query', '__typename')}`)).toBe('QUERY_TOO_COMPLEX');
  });

  it.each([
    ['of another type', '... on B { id }'],
    ['of an unknown type', '... on B { ... on Found { ... on A { id } } }'],
  ])('is rejected if its repeated fields are %s', (_what, inside) => {
    const text = `{ found { ... on A { ...F0 } } } ${doubling(20, 'Found', inside)}`;
    expect(unfold(text)).toBe('QUERY_TOO_COMPLEX');
  });
});
