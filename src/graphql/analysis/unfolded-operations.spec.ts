import { buildSchema, getIntrospectionQuery, getOperationAST, isObjectType, parse } from 'graphql';
import { ServiceError } from '../../common/errors.js';
import { readConfig } from '../../config/config.js';
import { findDocumentErrors } from '../http/persisted-documents.js';
import { evaluatePolicy } from './operation-policy.js';

const schema = buildSchema(
  'type Query { found: Found } union Found = A | B type A { id: ID } type B { id: ID }',
);

for (const type of Object.values(schema.getTypeMap()).filter(isObjectType))
  for (const { extensions } of Object.values(type.getFields()))
    Object.assign(extensions, { access: { kind: 'public' } });
const config = readConfig({});

/** Fragments, each of which spreads the next one twice. */
function doubling(levels: number, type: string, inside: string): string {
  const fragments = Array.from(
    { length: levels },
    (_, at) => `fragment F${at} on ${type} { ...F${at + 1} ...F${at + 1} }`,
  );
  return [...fragments, `fragment F${levels} on ${type} { ${inside} }`].join('\n');
}

/** Returns the code of the rejection; null if there is none. */
function refusalOf(text: string): string | null {
  const document = parse(text);
  const definition = getOperationAST(document);
  if (!definition) throw new Error('There is no operation');
  try {
    evaluatePolicy({ schema, document, definition, variables: {} }, {}, null, config);
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code;
  }
}

describe('a document that selects the schema', () => {
  it.each([
    '{ __schema { types { name } } __schema { types { kind } } a: __typename }',
    '{ a: __type(name: "A") { name } b: __type(name: "B") { name } }',
    getIntrospectionQuery(),
  ])('is accepted: %#', (text) => {
    expect(findDocumentErrors(schema, text, config)).toEqual([]);
  });

  it.each([
    '{ a: __schema { types { name } } b: __schema { types { name } } }',
    '{ __schema { a: types { name } } }',
    '{ __type(name: "A") { fields { ...F } } } fragment F on __Field { ... { a: name } }',
    '{ ...F } fragment F on Query { a: __schema { ...G } ...H } fragment G on __Schema { types { name } } fragment H on Query { b: __schema { ...G } }',
  ])('is rejected if aliases repeat it: %s', (text) => {
    const [message] = findDocumentErrors(schema, text, config);
    expect(message).toContain('too many aliases');
  });
});

describe('an operation whose fragments double', () => {
  it('is accepted while it has few fields', () => {
    expect(refusalOf(`{ ...F0 } ${doubling(5, 'Query', '__typename')}`)).toBeNull();
  });

  it('is rejected if it has too many fields', () => {
    expect(refusalOf(`{ ...F0 } ${doubling(20, 'Query', '__typename')}`)).toBe('QUERY_TOO_COMPLEX');
  });

  it.each([
    ['of another type', '... on B { id }'],
    ['of an unknown type', '... on B { ... on Found { ... on A { id } } }'],
  ])('is rejected if its repeated fields are %s', (_what, inside) => {
    const text = `{ found { ... on A { ...F0 } } } ${doubling(20, 'Found', inside)}`;
    expect(refusalOf(text)).toBe('QUERY_TOO_COMPLEX');
  });
});
