import { type DocumentNode, parse } from 'graphql';
import { Documents } from './documents.js';

/** A document of about 30 kB. */
const large = (name: string): DocumentNode => parse(`query ${name} { ${'a '.repeat(15_000)} }`);

describe('Documents', () => {
  it('keeps those that have come more than once, whatever else comes', async () => {
    const documents = new Documents();
    await documents.set('good', large('Good'));
    expect(await documents.get('good')).toBeDefined();
    for (let index = 0; index < 20; index++) await documents.set(`new ${index}`, large(`New${index}`));
    expect(await documents.get('new 0')).toBeUndefined();
    expect(await documents.get('new 19')).toBeDefined();
    expect(await documents.get('good')).toBeDefined();
  });

  it('forgets what it is told to', async () => {
    const documents = new Documents();
    await documents.set('one', parse('{ a }'));
    await documents.delete('one');
    expect(await documents.get('one')).toBeUndefined();
  });
});
