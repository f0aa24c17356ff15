import { modelSetting } from '../../../test/support/builders/model-file.js';
import { type Config, ConfigError, configFor, readConfig } from '../config.js';
import { type PresetName, PRESETS } from './presets/presets.js';
import { checkModel, readModel } from './read-model.js';

const field = 'type: String, description: A field., editable: true';

function problemsOf(fields: string, kind = 'users'): string[] {
  const text = `scopes: {conf: Numbers.}\n${kind}:\n  fields: {${fields}}`;
  return checkModel(text, 'openldap').problems.map((problem) => `${problem.line} ${problem.text}`);
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
        expect.stringMatching(/^2 «people» would show memberships that visibility hides/),
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
          expect.stringMatching(/^«teams» would show memberships that visibility hides/),
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

describe('a conflict with a field of a preset', () => {
  const modelOf = (attribute: string) => `groups: {fields: {page: {attribute: ${attribute}, ${field}}}}`;

  it.each<[string, PresetName | null, number]>([
    ['labeledURI', 'openldap', 1],
    ['labeledURI', 'samba', 0],
    ['wWWHomePage', 'openldap', 0],
    ['wWWHomePage', 'active-directory', 1],
    // The website is from one of both, and the address from mail everywhere.
    ['labeledURI', null, 0],
    ['wWWHomePage', null, 0],
    ['mail', null, 1],
  ])('is a problem for its servers only: %s, %s', (attribute, preset, problems) => {
    expect(checkModel(modelOf(attribute), preset).problems).toHaveLength(problems);
  });

  it('is a problem at the start for a file, and of a server when its kind is known', () => {
    const configOf = (url: string, attribute: string) =>
      readConfig({ DIRECTORY_URL: url, ...modelSetting(modelOf(attribute)) });
    const problemOf = (start: () => Config): string | null => {
      try {
        start();
        return null;
      } catch (error) {
        if (error instanceof ConfigError) return error.problems.join();
        throw error;
      }
    };
    expect(problemOf(() => configOf('file:some.ldif', 'wWWHomePage'))).toBeNull();
    expect(problemOf(() => configOf('file:some.ldif', 'labeledURI'))).toMatch(
      /yaml:1:19: «page» and «website»/,
    );
    const server = 'ldap://ldap.example.org';
    expect(problemOf(() => configFor(configOf(server, 'wWWHomePage'), 'openldap'))).toBeNull();
    expect(problemOf(() => configFor(configOf(server, 'wWWHomePage'), 'samba'))).toMatch(
      /yaml:1:\d+: «page» and «website» have .* another attribute\. The server is of the kind samba$/,
    );
    expect(problemOf(() => configFor(configOf(server, 'labeledURI'), 'openldap'))).toMatch(/kind openldap$/);
  });
});

describe('a field that previews change and on whose attribute more depends', () => {
  const state = `{attribute: Employeetype, ${field}}`;

  it.each([
    ['the id', `users: {id: employeeType, fields: {state: ${state}}}`],
    ['active', `users: {disabled: (employeeType=locked), fields: {state: ${state}}}`],
    ['memberships', `users: {memberOf: employeeType, fields: {state: ${state}}}`],
    ['memberships', `groups: {admins: {attribute: employeeType}, fields: {state: ${state}}}`],
    [
      'visibility.users',
      `users: {fields: {state: ${state}}}\nvisibility: {users: [{where: (!(employeeType=a)), to: self}]}`,
    ],
    [
      'visibility.members',
      `groups: {fields: {state: ${state}}}\nvisibility: {members: [{where: (employeeType=a), to: admins}]}`,
    ],
  ])('is a problem: %s', (what, model) => {
    const problems = checkModel(model, 'openldap').problems.map(({ text }) => text);
    expect(problems).toEqual([expect.stringContaining(`«state» has previews that would not show`)]);
    expect(problems).toEqual([expect.stringContaining(`their effect on ${what}, which depends`)]);
  });

  it('is none for a field that is read only, or of another kind', () => {
    const rule = 'visibility: {users: [{where: (employeeType=a), to: self}]}';
    const readOnly = state.replace(', editable: true', '');
    expect(checkModel(`users: {fields: {state: ${readOnly}}}\n${rule}`, 'openldap').problems).toEqual([]);
    expect(checkModel(`groups: {fields: {state: ${state}}}\n${rule}`, 'openldap').problems).toEqual([]);
  });
});

it.each(Object.keys(PRESETS))('the preset %s has no problem', (server) => {
  expect(checkModel(`server: ${server}`).problems).toEqual([]);
});

it('the sample model has no problem', () => {
  expect(readModel('sample/model.yaml').problems).toEqual([]);
});
