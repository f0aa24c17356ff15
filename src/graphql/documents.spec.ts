import { type DocumentNode, parse } from 'graphql';
import { Documents } from './documents.js';

/** A document of about 30 kB. */
const large = (name: string): DocumentNode => parse(`query ${name} { ${'a '.repeat(15_000)} }`);

describe('Documents', () => {
  it('keeps those that have come more than once, whatever else comes', async () => {
    const documents = new Documents();
    const good = large('Good');
    await documents.set('good', good);
    expect(await documents.get('good')).toBe(good);
    const others = Array.from({ length: 20 }, (_, index) => large(`New${index}`));
    for (const [index, other] of others.entries()) await documents.set(`new ${index}`, other);
    expect(await documents.get('new 0')).toBeUndefined();
    expect(await documents.get('new 19')).toBe(others[19]);
    expect(await documents.get('good')).toBe(good);
  });

  it('forgets what it is told to', async () => {
    const documents = new Documents();
    await documents.set('one', parse('{ a }'));
    await documents.delete('one');
    expect(await documents.get('one')).toBeUndefined();
  });
});
