import { type DocumentNode, parse } from 'graphql';
import { Documents } from './documents.js';

/** A document of about 30 kB. */
const large = (name: string): DocumentNode => parse(`query ${name} { ${'a '.repeat(15_000)} }`);

describe('Documents', () => {
  it('keeps documents that were used more than once, regardless of others', async () => {
    const documents = new Documents();
    const good = large('Good');
    await documents.set('good', good);
    expect(await documents.get('good')).toBe(good);
    const others = Array.from({ length: 20 }, (_, index) => `New${index}`);
    for (const other of others) await documents.set(other, large(other));
    expect(await documents.get('New0')).toBeUndefined();
    expect(await documents.get('New19')).toBeDefined();
    expect(await documents.get('good')).toBe(good);
  });
});
