import { buildSchema, getIntrospectionQuery } from 'graphql';
import { readConfig } from '../../config/config.js';
import { findDocumentErrors } from '../http/documents.js';

const schema = buildSchema(
  'type Query { found: Found } union Found = A | B type A { id: ID } type B { id: ID }',
);

const config = readConfig({});

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
