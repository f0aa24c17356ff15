import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { checkModel, readModel } from './read-model.js';
import { configProblems, readConfig } from '../config.js';

/** What a path can have instead of a model, and how the problem begins. A text is the content of a file. */
const UNUSABLE: readonly [what: string, content: string | Buffer | ((file: string) => unknown), RegExp][] = [
  ['nothing', () => undefined, /cannot be read as UTF-8 \(ENOENT\)/],
  ['a directory', (file) => mkdirSync(file), /cannot be read as UTF-8 \(no file of at most 100000 bytes\)/],
  [
    'a pipe without a writer',
    (file) => execFileSync('mkfifo', [file]),
    /cannot be read as UTF-8 \(no file of/,
  ],
  ['a loop of links', (file) => symlinkSync(file, file), /cannot be read as UTF-8 \(ELOOP\)/],
  ['a large file', `# ${'x'.repeat(100_000)}`, /cannot be read as UTF-8 \(no file of at most 100000 bytes\)/],
  ['an empty file', '', /:1:1: the file is empty/],
  ['a file of spaces', ' \n---\n\n', /:1:1: the file is empty/],
  [
    'another encoding',
    Buffer.from('scopes: {a: Caf\u00e9.}\n', 'latin1'),
    /\(ERR_ENCODING_INVALID_ENCODED_DATA\)/,
  ],
  ['two bytes for each character', Buffer.from('\ufeffusers: 1\n', 'utf16le'), /\(ERR_ENCODING_INVALID/],
  ['a tab', 'users:\n\tid: uid\n', /:2:1: the YAML is malformed: Tabs/],
  ['a quote without its end', 'server: "openldap\n', /:2:1: the YAML is malformed: Missing closing/],
  ['several documents', 'users: {id: uid}\n---\ngroups: {id: cn}\n', /:2:1: .* multiple documents/],
  ['a tag', 'users: {id: !!js/function uid}\n', /:1:13: the YAML is malformed: Unresolved tag/],
  ['a merge key', '%YAML 1.1\n---\nusers: {<<: {id: uid}}\n', /:3:9: users\.<<: unknown key/],
  ['another version of YAML', '%YAML 9.9\n---\nserver: openldap\n', /:1:7: the YAML is malformed/],
  [
    'many aliases',
    `users: {name: [&a cn, ${'*a,'.repeat(1000)} *a]}\n`,
    /:1:1: the YAML is malformed: Excessive alias count/,
  ],
  [
    'ill-formed Unicode',
    'scopes: {contact: "\\ud800"}\n',
    /:1:19: scopes\.contact: expected one line of text/,
  ],
];

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

describe('the problems of a model file', () => {
  it.each(UNUSABLE)('include, of a path, %s', (_, content, problem) => {
    const file = modelSetting('').DIRECTORY_MODEL;
    rmSync(file);
    if (typeof content === 'function') content(file);
    else writeFileSync(file, content);
    expect(readModel(file).problems).toEqual([expect.stringMatching(problem)]);
  });

  it('include a file that the user may not read', () => {
    const file = modelSetting('server: openldap').DIRECTORY_MODEL;
    chmodSync(file, 0o000);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(readModel(file).problems).toEqual([
        `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (EACCES): ${file}`,
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('are at the same places with a byte order mark and with other ends of lines', () => {
    const file = modelSetting('\ufeffserver: x\r\nusers: {id: 3}\r\n').DIRECTORY_MODEL;
    expect(readModel(file).problems.map((each) => each.slice(file.length, file.length + 10))).toEqual([
      ':1:9: serv',
      ':2:13: use',
    ]);
  });

  it('include keys with names of JavaScript, and do not hide others', () => {
    const yaml = `
__proto__: 1
constructor: {a: 1}
users:
  toString: 1
  __proto__: {id: no name}
  id: 3
  fields: {__proto__: cn, constructor: cn, own: {attribute: x, description: A field., type: Int, valueOf: 1}}
scopes: {__proto__: a, hasOwnProperty: b}
visibility: {bypass: valueOf, users: {__proto__: []}}
`;
    const found = problemsIn(yaml);
    expect(found.map((each) => each.split(' ')[0]).sort()).toEqual(
      ['2:1', '3:1', '5:3', '6:3', '7:7', '8:27', '8:98', '9:24', '10:22', '10:38'].sort(),
    );
    expect(found).toContainEqual(expect.stringMatching(/^3:1 constructor: unknown key\. /));
    expect(found).toContainEqual(
      expect.stringMatching(
        /^9:24 scopes\.hasOwnProperty: a built-in scope, one of OpenID Connect, or a name of JavaScript/,
      ),
    );
  });

  it.each([
    [
      'a base twice, in another spelling',
      'groups: {base: [ou=clubs, OU = Clubs]}',
      /^1:16 groups\.base: has the same DN twice$/,
    ],
    ['the base DN twice', 'users: {base: ["", " "]}', /^1:15 users\.base: has the same DN twice/],
    [
      'an object class that is none',
      'groups: {classes: ["a b"]}',
      /^1:20 groups\.classes\.0: expected the name of an object class$/,
    ],
    [
      'a bypass with a typing error',
      'scopes: {confidential: Hidden people.}\nvisibility: {bypass: confidentail}',
      /^2:22 visibility\.bypass: unknown scope\. Did you mean confidential\?$/,
    ],
    ...['profile', 'read', 'directory', 'write'].map((scope): [string, string, RegExp] => [
      `the bypass of a built-in scope, ${scope}`,
      `visibility: {bypass: ${scope}}`,
      /^1:22 visibility\.bypass: a built-in scope, which tokens have for other purposes/,
    ]),
  ])('include %s', (_, yaml, expected) => {
    expect(problemsIn(yaml)).toEqual([expect.stringMatching(expected)]);
  });

  it.each(['\\n# x <img src=x>', '\\t', '\\u2028', '\\u202e', '\\u2066'])(
    'include a description that is not one line of text: %s',
    (text) => {
      expect(problemsIn(`scopes: {contact: "Phone ${text} numbers."}`)).toEqual([
        expect.stringMatching(/^1:19 scopes\.contact: expected one line of text/),
      ]);
      const folded = 'scopes:\n  contact: >\n    Phone\n    numbers.\n  other: More\n    text.\n';
      expect(problemsIn(folded)).toEqual([]);
    },
  );

  it('include those of all rules of a list', () => {
    const rules = [
      '{where: (a=b), to: nobody}',
      '{where: (userPassword=x), to: self}',
      '{where: "(x", to: self}',
    ];
    const yaml = `visibility:\n  users:\n${rules.map((rule) => `    - ${rule}\n`).join('')}`;
    const places = problemsIn(yaml).map((each) => each.split(' ')[0]);
    expect(places.sort()).toEqual(['3:26', '4:15', '5:15']);
  });

  it('include a filter that only a server can evaluate, for a file and for what the service evaluates', () => {
    const nested = '(memberOf:1.2.840.113556.1.4.1941:=cn=staff,dc=example,dc=org)';
    const problemsOf = (yaml: string, url = 'ldap://directory.example.org') =>
      configProblems(() => readConfig({ DIRECTORY_URL: url, ...modelSetting(yaml) }));
    expect(problemsOf(`users: {filter: "${nested}"}`)).toEqual([]);
    for (const problems of [
      problemsOf(`users: {filter: "${nested}"}`, 'file:directory.ldif'),
      problemsOf(`users: {disabled: "${nested}"}`),
      problemsOf(`visibility: {users: [{where: "${nested}", to: self}]}`),
    ])
      expect(problems).toEqual([expect.stringMatching(/1941|which only a server can evaluate/)]);
  });

  it('repeat no long or unprintable part of the file', () => {
    const texts = [
      `"\\u202e${'x'.repeat(900)}": 1`,
      `scopes: {"${'y'.repeat(400)} \\x1b[2J": x}`,
      `users: {fields: {${'z'.repeat(900)}: cn}}`,
      `"${'x'.repeat(59)}😀": 1`,
      `a: "${'x'.repeat(900)}" "b`,
    ];
    for (const problem of texts.flatMap(problemsIn)) {
      expect(problem.length).toBeLessThan(700);
      expect(problem.isWellFormed()).toBe(true);
      expect(problem).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });
});

describe('the limits of a model file', () => {
  const field = '{attribute: x, type: Int, description: D.}';
  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => `f${index}: ${field}`).join(', ');
  const items = (item: string, count: number) => Array.from({ length: count }, () => item).join(', ');

  it.each<[what: string, most: number, yamlOf: (size: number) => string]>([
    ['fields', 100, (size) => `users: {fields: {${fields(size)}}}`],
    ['characters of the name of a field', 64, (size) => `users: {fields: {${'x'.repeat(size)}: ${field}}}`],
    ['characters of the name of a scope', 256, (size) => `scopes: {${'x'.repeat(size)}: D.}`],
    ['characters of an attribute', 256, (size) => `users: {id: ${'x'.repeat(size)}}`],
    ['characters of a description', 1000, (size) => `scopes: {contact: ${'x'.repeat(size)}}`],
    ['characters of a filter', 10_000, (size) => `users: {filter: (a=${'x'.repeat(size - 4)})}`],
    ['levels of a filter', 100, (size) => `users: {filter: "${'(!'.repeat(size)}(a=b)${')'.repeat(size)}"}`],
    ['rules', 100, (size) => `visibility: {users: [${items('{where: (a=b), to: self}', size)}]}`],
    ['attributes', 20, (size) => `users: {name: [${items('cn', size)}]}`],
    [
      'bases',
      20,
      (size) => `users: {base: [${Array.from({ length: size }, (_, index) => `ou=a${index}`).join(', ')}]}`,
    ],
  ])('are those of the documentation: %s', (_, most, yamlOf) => {
    expect(problemsIn(yamlOf(most))).toEqual([]);
    expect(problemsIn(yamlOf(most + 1))).toHaveLength(1);
    expect(readFileSync('docs/model.md', 'utf8')).toContain(most.toLocaleString('en'));
  });
});

/** Texts that YAML, JavaScript, GraphQL or LDAP read in a special way. */
const PIECES = [
  ...['"\\ud800"', '\u0007', '\0', '\ufeff', '\u202e', '😀', '\t', '\r', '\n', '\n---\n', '%YAML 1.1\n'],
  ...['__proto__', 'constructor', 'toString', 'then', '__typename', '<<: *a', '&a ', '*a', '!foo ', '!!set '],
  ...['{', '}', '[', ']', ': ', '- ', '? ', '|', '"', "'", '#', '~', 'yes', '1e999', '[[[[', '('.repeat(200)],
  ...['(!(a=b))', 'type: User', 'reverse: reports', 'access: read', 'editable: true', 'visibleTo: self'],
];

interface Edit {
  readonly kind: 'insert' | 'remove' | 'repeat a line' | 'replace a value' | 'replace a key';
  /** The position as a share of the text. */
  readonly at: number;
  readonly piece: string;
  readonly length: number;
}

/** Model files with a few changes, most of which make them invalid. */
function mutationsOf(model: string): fc.Arbitrary<string> {
  const edit = fc.record<Edit>({
    kind: fc.constantFrom('insert', 'remove', 'repeat a line', 'replace a value', 'replace a key'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    piece: fc.constantFrom(...PIECES),
    length: fc.integer({ min: 1, max: 12 }),
  });
  return fc.array(edit, { minLength: 1, maxLength: 3 }).map((edits) => edits.reduce(apply, model));
}

function apply(text: string, { kind, at, piece, length }: Edit): string {
  const offset = Math.floor(at * text.length);
  if (kind === 'insert') return text.slice(0, offset) + piece + text.slice(offset);
  if (kind === 'remove') return text.slice(0, offset) + text.slice(offset + length);
  const lines = text.split('\n');
  const index = Math.min(lines.length - 1, Math.floor(at * lines.length));
  const line = lines[index] ?? '';
  if (kind === 'repeat a line') return lines.toSpliced(index, 0, line).join('\n');
  const changed =
    kind === 'replace a value'
      ? line.replace(/:.*/, () => `: ${piece}`)
      : line.replace(/[\w-]+:/, () => `${piece}:`);
  return lines.with(index, changed).join('\n');
}

describe('model files with random changes', () => {
  it('are accepted, or explained at a place', () => {
    const { DIRECTORY_MODEL: file } = modelSetting('');
    const models = mutationsOf(readFileSync('sample/model.yaml', 'utf8'));
    fc.assert(
      fc.property(models, (yaml) => {
        writeFileSync(file, yaml);
        const { problems } = readModel(file);
        if (problems.length === 0) expect(() => readConfig({ DIRECTORY_MODEL: file })).not.toThrow();
        for (const problem of problems) {
          expect(problem.startsWith(file)).toBe(true);
          expect(problem.slice(file.length)).toMatch(/^:\d+:\d+: [^\p{Cc}\p{Cs}]+$/u);
        }
      }),
      { seed: 20_261_123, numRuns: 200, endOnFailure: true },
    );
  });
});
