import { PRESETS } from './presets/presets.js';
import { checkModel, readModel } from './read-model.js';

const field = 'type: String, description: A field., editable: true';

function problemsOf(fields: string, kind = 'users'): string[] {
  return checkModel(`scopes: {conf: Numbers.}\n${kind}:\n  fields: {${fields}}`).problems.map(
    ({ line, text }) => `${line} ${text}`,
  );
}

describe('two fields that previews change', () => {
  it.each([
    [
      'users',
      `a: {attribute: title, ${field}}, b: {attribute: [o, "TITLE;lang-de"], ${field}}`,
      /«b» and «a»/,
    ],
    ['users', `a: {attribute: MAIL, ${field}}`, /«a» and «email»/],
    ['users', `a: {attribute: cn, ${field}}`, /«a» and «name»/],
    ['users', 'givenName: sn', /«familyName» and «givenName»/],
    ['groups', `a: {attribute: labeledURI, ${field}}`, /«a» and «website»/],
  ])('have no common attribute: %s %s', (kind, fields, message) => {
    const problems = problemsOf(fields, kind);
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems).toEqual([expect.stringMatching(/^3 .*common attribute.*Remove editable from one/)]);
  });

  it('may be beside a field that no preview changes', () => {
    const all = 'type: "[String!]!", description: All.';
    expect(problemsOf(`a: {attribute: title, ${field}}, b: {attribute: title, ${all}}`)).toEqual([]);
    expect(problemsOf('givenName: [givenName, cn]')).toEqual([]);
  });
});

describe('a field that previews change', () => {
  const numbers = 'attribute: INT, type: "[Int!]!", description: Numbers.';

  it.each([
    [`n: {attribute: int, ${field}}, all: {${numbers} , access: conf, visibleTo: self}`, /«n» .* «all»/],
    [`n: {attribute: int, ${field}}, all: {${numbers} , access: conf}`, /«n» .* «all»/],
    [`n: {attribute: [o, int], ${field}, access: conf}, all: {${numbers} , visibleTo: self}`, /«n» .* «all»/],
    ['all: {attribute: mail, type: "[String!]!", description: All., access: conf}', /«email» .* «all»/],
  ])('reads no attribute that another field protects more: %s', (fields, message) => {
    expect(problemsOf(fields)).toEqual([expect.stringMatching(message)]);
    expect(problemsOf(fields)).toEqual([
      expect.stringMatching(/^3 .*would show the values.*Remove editable/),
    ]);
  });

  it('may have the same access', () => {
    expect(
      problemsOf(`n: {attribute: int, ${field}, access: conf}, all: {${numbers} , access: conf}`),
    ).toEqual([]);
  });
});

it.each(Object.keys(PRESETS))('the preset %s has no problem', (server) => {
  expect(checkModel(`server: ${server}`).problems).toEqual([]);
});

it('the sample model has no problem', () => {
  expect(readModel('sample/model.yaml').problems).toEqual([]);
});
