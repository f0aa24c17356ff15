import { modelSetting } from '../../../test/support/builders/model-file.js';
import { type Config, configFor, configProblems, readConfig } from '../config.js';
import { PRESET_NAMES } from './presets/presets.js';
import { checkModel, readModel } from './read-model.js';

const field = 'type: String, description: A field., editable: true';

function problemsOf(fields: string, kind = 'users'): string[] {
  const text = `scopes: {conf: Numbers.}\n${kind}:\n  fields: {${fields}}`;
  return checkModel(text, 'openldap').problems.map((problem) => `${problem.line} ${problem.text}`);
}

describe('a field that previews change', () => {
  const numbers = 'attribute: INT, type: "[Int!]!", description: Numbers.';

  it.each([
    [`n: {attribute: int, ${field}}, all: {${numbers} , access: conf, visibleTo: self}`, /n .* all/],
    [`n: {attribute: int, ${field}}, all: {${numbers} , access: conf}`, /n .* all/],
    [`n: {attribute: [o, int], ${field}, access: conf}, all: {${numbers} , visibleTo: self}`, /n .* all/],
    ['all: {attribute: mail, type: "[String!]!", description: All., access: conf}', /email .* all/],
  ])('reads no attribute that another field protects more: %s', (fields, message) => {
    expect(problemsOf(fields)).toEqual([expect.stringMatching(message)]);
    expect(problemsOf(fields)).toEqual([
      expect.stringMatching(/^3 users\.fields\.\w+: previews of .* would show /),
    ]);
  });

  it('may have the same access', () => {
    expect(
      problemsOf(`n: {attribute: int, ${field}, access: conf}, all: {${numbers} , access: conf}`),
    ).toEqual([]);
  });
});

describe('a field on an attribute that names members', () => {
  const problemsWith = (fields: string, visibility: string) =>
    checkModel(
      `scopes: {all: Everything.}\ngroups: {fields: {${fields}}}\nvisibility: {${visibility}}`,
      'openldap',
    ).problems.map(({ line, text }) => `${line} ${text}`);
  const rule = '[{where: (cn=secret), to: members}]';
  const shown = 'people: {attribute: MEMBER;x-a, type: "[String!]!", description: Members.}';

  it.each([`members: ${rule}`, `groups: ${rule}`, 'users: [{where: (uid=a), to: self}]'])(
    'would show what a rule hides: %s',
    (rules) => {
      expect(problemsWith(shown, rules)).toEqual([
        expect.stringMatching(/^2 groups\.fields\.people: would show memberships that visibility hides/),
      ]);
    },
  );

  it.each(['memberOf', 'isMemberOf;x-a', 'memberUid', 'MSDS-memberOfTransitive'])(
    'would show it also on an attribute that no mapping reads: %s',
    (attribute) => {
      for (const kind of ['users', 'groups']) {
        const field = `teams: {attribute: ${attribute}, type: "[String!]!", description: Groups.}`;
        const model = `${kind}: {fields: {${field}}}\nvisibility: {members: ${rule}}`;
        expect(checkModel(model, 'openldap').problems.map(({ text }) => text)).toEqual([
          expect.stringMatching(/^\w+\.fields\.teams: would show memberships that visibility hides/),
        ]);
      }
    },
  );

  it('is accepted without a rule, and with the scope that sees everything', () => {
    expect(problemsWith(shown, '')).toEqual([]);
    const protectedField = shown.replace('attribute', 'access: all, attribute');
    expect(problemsWith(protectedField, `bypass: all, members: ${rule}`)).toEqual([]);
  });
});

describe('a field with the name of a member of every object', () => {
  it.each(['toString', 'valueOf', 'constructor', 'hasOwnProperty'])(
    'is a problem of the model: %s',
    (name) => {
      expect(problemsOf(`${name}: {attribute: abc, ${field}, searchable: true, filterable: true}`)).toEqual([
        expect.stringContaining(`users.fields.${name}: a name of the built-in schema or of the service`),
      ]);
    },
  );
});

describe('a disclosure by a field of a preset', () => {
  const modelOf = (attribute: string) =>
    `groups: {fields: {page: {attribute: ${attribute}, type: String, description: A page., visibleTo: self}}}`;
  const configOf = (url: string, attribute: string) =>
    readConfig({ DIRECTORY_URL: url, ...modelSetting(modelOf(attribute)) });
  const problemsAt = (start: () => Config) => configProblems(start).join();

  it('is a problem at the start for a file, and of a server when its kind is known', () => {
    expect(problemsAt(() => configOf('file:some.ldif', 'wWWHomePage'))).toBe('');
    expect(problemsAt(() => configOf('file:some.ldif', 'labeledURI'))).toMatch(
      /yaml:1:19: groups\.fields\.page: previews of website would show page/,
    );
    const server = 'ldap://ldap.example.org';
    expect(problemsAt(() => configFor(configOf(server, 'wWWHomePage'), 'openldap'))).toBe('');
    expect(problemsAt(() => configFor(configOf(server, 'wWWHomePage'), 'samba'))).toMatch(
      /yaml:1:\d+: .* website would show page, .*, on a server of the kind samba$/,
    );
  });
});

it.each(PRESET_NAMES)('the preset %s has no problem', (server) => {
  expect(checkModel(`server: ${server}`).problems).toEqual([]);
});

it('the sample model has no problem', () => {
  expect(readModel('sample/model.yaml').problems).toEqual([]);
});
