import { buildSchema, parse } from 'graphql';
import { Documents, type ValidDocument } from './document-parser.js';

const schema = buildSchema('type Query { a: Int }');

const valid = (text: string): ValidDocument => ({ document: parse(text), schema });

/** A document of about 30 kB. */
const large = (name: string): string => `query ${name} { ${'a '.repeat(15_000)} }`;

describe('Documents', () => {
  it('keeps documents that were used more than once, regardless of others', () => {
    const documents = new Documents();
    const good = valid(large('Good'));
    documents.keep('good'.repeat(7500), good);
    expect(documents.find('good'.repeat(7500))).toBe(good);
    const others = Array.from({ length: 20 }, (_, index) => large(`New${index}`));
    for (const other of others) documents.keep(other, valid(other));
    expect(documents.find(others[0] ?? '')).toBeNull();
    expect(documents.find(others[19] ?? '')).not.toBeNull();
    expect(documents.find('good'.repeat(7500))).toBe(good);
  });
});
