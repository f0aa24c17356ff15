import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path that cannot be a model file, and the whole problem: the path is `FILE`. */
export type UnusableModel = readonly [what: string, write: (file: string) => void, problem: string];

const containing = (content: string | Buffer) => (file: string) => {
  writeFileSync(file, content);
};

/** Each problem has a cause and a cure, and a place where there is one. */
export const UNUSABLE_MODELS: readonly UnusableModel[] = [
  [
    'a missing file',
    () => undefined,
    'DIRECTORY_MODEL names a file that does not exist: FILE. Correct the path, or create the file.',
  ],
  [
    'a directory',
    (file) => {
      mkdirSync(file);
    },
    'DIRECTORY_MODEL names something that is not a file: FILE. Write the path of a YAML file.',
  ],
  [
    'a pipe without a writer',
    (file) => execFileSync('mkfifo', [file]),
    'DIRECTORY_MODEL names something that is not a file: FILE. Write the path of a YAML file.',
  ],
  [
    'a loop of links',
    (file) => {
      symlinkSync(file, file);
    },
    'DIRECTORY_MODEL names a file that cannot be read (ELOOP): FILE. Check the path and the file system.',
  ],
  [
    'a large file',
    containing(`# ${'x'.repeat(1_000_000)}`),
    'DIRECTORY_MODEL names a file of more than 1000000 bytes: FILE. A model has a few kilobytes: check that the path is the right one.',
  ],
  [
    'an empty file',
    containing(''),
    'FILE:1:1: The file is empty. Write the model into it, or remove DIRECTORY_MODEL.',
  ],
  [
    'a file of spaces',
    containing(' \n---\n\n'),
    'FILE:1:1: The file is empty. Write the model into it, or remove DIRECTORY_MODEL.',
  ],
  [
    'another encoding',
    containing(Buffer.from('server: openldap\nscopes: {a: Caf\u00e9.}\n', 'latin1')),
    'FILE:2:16: This is not UTF-8. Save the file in this encoding.',
  ],
  [
    'two bytes for each character',
    containing(Buffer.from('\ufeffserver: openldap\n', 'utf16le')),
    'FILE:1:1: This is not UTF-8. Save the file in this encoding.',
  ],
  [
    'a control character',
    containing('server: openldap # \u0007\n'),
    'FILE:1:20: The character U+0007 is a control character or invalid. Remove it.',
  ],
  [
    'a tab',
    containing('users:\n\tid: uid\n'),
    'FILE:2:1: The YAML is malformed: Tabs are not allowed as indentation. Indent with spaces.',
  ],
  [
    'a quote without its end',
    containing('server: "openldap\n'),
    'FILE:2:1: The YAML is malformed: Missing closing "quote. Add what is missing here, or put the text in quotes.',
  ],
  [
    'several documents',
    containing('users: {id: uid}\n---\ngroups: {id: cn}\n'),
    'FILE:2:1: A second document begins here. Keep one, without the line ---.',
  ],
  [
    'many levels',
    containing(`users: ${'['.repeat(40_000)}`),
    'FILE:1:27: The YAML has more than 20 levels. Use fewer.',
  ],
  [
    'many tokens',
    containing('}'.repeat(999_999)),
    'FILE:1:1: The YAML has more than 300000 tokens. Check that it is the right file.',
  ],
  [
    'a duplicate key',
    containing('users:\n  id: uid\n  id: cn\n'),
    'FILE:3:3: The key «id» occurs twice. Keep one of them.',
  ],
  [
    'a tag',
    containing('users: {id: !!js/function uid}\n'),
    'FILE:1:13: The tag «!!js/function» cannot be resolved. Remove it.',
  ],
  [
    'a merge key',
    containing('%YAML 1.1\n---\nusers: {<<: {id: uid}}\n'),
    'FILE:3:9: The key «<<» would merge another map, which YAML 1.2 does not know. Write the keys out.',
  ],
  [
    'another version of YAML',
    containing('%YAML 9.9\n---\nserver: openldap\n'),
    'FILE:1:7: This directive is neither %YAML 1.2 nor %YAML 1.1. Remove the line.',
  ],
  [
    'another directive',
    containing('%LDAP 3\n---\nserver: openldap\n'),
    'FILE:1:1: This directive is neither %YAML 1.2 nor %YAML 1.1. Remove the line.',
  ],
  [
    'an alias without an anchor',
    containing('users: {id: *name}\n'),
    'FILE:1:13: An alias names no anchor before it. Write the values out.',
  ],
  [
    'many aliases',
    containing(`users: {name: [&a cn, ${'*a,'.repeat(1000)} *a]}\n`),
    'FILE:1:1: The file has more than 1000 aliases. Write the values out.',
  ],
  [
    'aliases of many values',
    containing(
      'a: &a [x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c]\n',
    ),
    'FILE:2:8: The aliases stand for too many values. Write the values out.',
  ],
  [
    'ill-formed Unicode',
    containing('scopes: {contact: "\\ud800"}\n'),
    'FILE:1:19: The character U+D800 is a control character or invalid. Remove it.',
  ],
  [
    'an escaped control character',
    containing('scopes: {contact: "a\\x7fb"}\n'),
    'FILE:1:19: The character U+007F is a control character or invalid. Remove it.',
  ],
];

/** Makes what a model cannot be. Returns its path, and the problem with it. */
export function makeUnusable([, write, problem]: UnusableModel): { file: string; problem: string } {
  const file = join(
    mkdtempSync(join(process.env['TEST_WORK_DIRECTORY'] ?? tmpdir(), 'unusable-')),
    'model.yaml',
  );
  write(file);
  return { file, problem: problem.replace('FILE', file) };
}
