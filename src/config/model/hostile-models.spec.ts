import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { makeUnusable, UNUSABLE_MODELS } from '../../../test/support/builders/unusable-models.js';
import { checkModel, readModel } from './read-model.js';
import { mutatedModels } from '../../../test/support/builders/mutated-models.js';
import { readConfig } from '../config.js';

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

describe('the problems of a model file', () => {
  it.each(UNUSABLE_MODELS.map((each) => [each[0], each] as const))(
    'include, of a path, %s',
    (_, unusable) => {
      const { file, problem } = makeUnusable(unusable);
      expect(readModel(file).problems).toEqual([problem]);
    },
  );

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

  it('are counted beyond those that are listed', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1`).join('\n');
    const listed = (yaml: string) => {
      const { DIRECTORY_MODEL: file } = modelSetting(yaml);
      return readModel(file).problems.map((each) => each.slice(file.length));
    };
    expect(listed(keys(100))).toHaveLength(100);
    expect(listed(keys(101)).slice(100)).toEqual([': 1 more problems']);
    expect(listed(keys(5000)).slice(100)).toEqual([': 4900 more problems']);
    expect(listed(`${keys(5000)}\nusers: {id: 3}\nscopes: {read: x}`).slice(100)).toEqual([
      ': 4902 more problems',
    ]);
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

describe('model files with random changes', () => {
  it('are accepted, or explained at a place', () => {
    const { DIRECTORY_MODEL: file } = modelSetting('');
    const models = mutatedModels([readFileSync('sample/model.yaml', 'utf8')]);
    fc.assert(
      fc.property(models, (yaml) => {
        writeFileSync(file, yaml);
        const { problems } = readModel(file);
        if (problems.length === 0) expect(() => readConfig({ DIRECTORY_MODEL: file })).not.toThrow();
        for (const problem of problems) {
          expect(problem.startsWith(file)).toBe(true);
          expect(problem.slice(file.length)).toMatch(/^:(?:\d+:\d+: [^\p{Cc}\p{Cs}]+| \d+ more problems)$/u);
        }
      }),
      { seed: 20_261_123, numRuns: 200, endOnFailure: true },
    );
  });
});
