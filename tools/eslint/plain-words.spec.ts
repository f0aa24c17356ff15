import { Linter } from 'eslint';
import { findWord, plainWords } from './plain-words.mjs';

function lint(code: string, sampleWords: readonly string[] = []): string[] {
  const plugin = { rules: { 'plain-words': plainWords } };
  return new Linter()
    .verify(code, {
      plugins: { local: plugin },
      rules: { 'local/plain-words': ['error', { sampleWords }] },
    })
    .map(({ message }) => message);
}

describe('the words of the linter', () => {
  it.each([
    ['a comment', '// It is read anew.'],
    ['a string', "log('Nobody has it');"],
    ['a template', 'log(`The ${x} was told`);'],
    ['an identifier', 'const isTold = 1;'],
    ['a constant', 'const NOBODY = 1;'],
  ])('are reported in %s', (_, code) => {
    expect(lint(code)).toHaveLength(1);
  });

  it.each([
    ['Math.floor', 'Math.floor(1.5);'],
    ['SQL', "query('select floor(1.5)');"],
    ['longer words', 'const flooring = "bedroom";'],
  ])('are not reported in %s', (_, code) => {
    expect(lint(code)).toEqual([]);
  });

  it('are found in the parts of an identifier', () => {
    expect([findWord('isRoomName', true), findWord('mushroom', true)]).toEqual(['Room', null]);
  });

  it.each([
    ['a string', "query('nobody');", 0],
    ['a template', 'query(`{ user(user: {id: "nobody"}) { id } }`);', 0],
    ['a field', 'const entry = { room: 12 };', 0],
    ['a comment', '// Nobody has it.', 1],
    ['a title of a test', "it('shows nobody', () => {});", 1],
    ['a title of several tests', 'it.each([1])(`shows nobody %i`, () => {});', 1],
  ])('can be sample data in %s', (_, code, count) => {
    expect(lint(code, ['nobody', 'room'])).toHaveLength(count);
  });
});
