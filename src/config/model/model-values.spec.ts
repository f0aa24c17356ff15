import { checkModel } from './read-model.js';

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

describe('the problems of a model file', () => {
  it.each([
    ['a line break', '\\n# x <img src=x>'],
    ['a tab', '\\t'],
    ['a line separator', '\\u2028'],
    ['an override of the direction', '\\u202e'],
    ['an isolate', '\\u2066'],
  ])('include a description with %s', (_, text) => {
    expect(problemsIn(`scopes: {contact: "Phone ${text} numbers."}`)).toEqual([
      expect.stringMatching(/^1:19 scopes\.contact: expected one line of text/),
    ]);
  });

  it('do not include line breaks of the file in a description that is one line', () => {
    expect(problemsIn('scopes:\n  contact: >\n    Phone\n    numbers.\n  other: More\n    text.\n')).toEqual(
      [],
    );
  });

  it('include a name of a scope with a comma, which commands take for two scopes', () => {
    expect(problemsIn('scopes: {"a,b": Both., "urn:c/d": One.}')).toEqual([
      expect.stringMatching(/^1:10 .*expected the name of a scope .*without spaces, commas/),
    ]);
  });
});
