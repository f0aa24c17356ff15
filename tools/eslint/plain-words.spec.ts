import { Linter } from 'eslint';
import { findWord, plainWords } from './plain-words.mjs';

function lint(code: string): string[] {
  const plugin = { rules: { 'plain-words': plainWords } };
  return new Linter()
    .verify(code, { plugins: { local: plugin }, rules: { 'local/plain-words': 'error' } })
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
    ['longer words', 'const flooring = "bedroom";'],
  ])('are not reported in %s', (_, code) => {
    expect(lint(code)).toEqual([]);
  });

  it('are found in the parts of an identifier', () => {
    expect([findWord('tellsRoomName', true), findWord('mushroom', true)]).toEqual(['Room', null]);
  });
});
