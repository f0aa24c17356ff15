import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path that cannot be a model file, and the whole problem: the path is `FILE`. */
export type UnusableModel = readonly [what: string, write: (file: string) => void, problem: string];

const containing = (content: string | Buffer) => (file: string) => writeFileSync(file, content);

const PATH = 'Write the path of a YAML file in UTF-8.';
const SYNTAX = 'Check the indentation, quotes, brackets and colons here.';
const ALIAS = 'Excessive alias count indicates a resource exhaustion attack. Write the values out.';
const LINE =
  'scopes.contact has a line break, a tab, or a character that is not shown or changes the direction of text (such as U+202E). Write one line without them.';

/** Each problem has a cause and a cure, and a place where there is one. */
export const UNUSABLE_MODELS: readonly UnusableModel[] = [
  [
    'a missing file',
    () => undefined,
    `DIRECTORY_MODEL names a file that cannot be read (ENOENT): FILE. ${PATH}`,
  ],
  [
    'a directory',
    (file) => mkdirSync(file),
    `DIRECTORY_MODEL names a file that cannot be read (no file of at most 100000 bytes): FILE. ${PATH}`,
  ],
  [
    'a pipe without a writer',
    (file) => execFileSync('mkfifo', [file]),
    `DIRECTORY_MODEL names a file that cannot be read (no file of at most 100000 bytes): FILE. ${PATH}`,
  ],
  [
    'a loop of links',
    (file) => symlinkSync(file, file),
    `DIRECTORY_MODEL names a file that cannot be read (ELOOP): FILE. ${PATH}`,
  ],
  [
    'a large file',
    containing(`# ${'x'.repeat(100_000)}`),
    `DIRECTORY_MODEL names a file that cannot be read (no file of at most 100000 bytes): FILE. ${PATH}`,
  ],
  ['an empty file', containing(''), 'FILE:1:1: The file is empty. Write its keys, or remove its setting.'],
  [
    'a file of spaces',
    containing(' \n---\n\n'),
    'FILE:1:1: The file is empty. Write its keys, or remove its setting.',
  ],
  [
    'another encoding',
    containing(Buffer.from('server: openldap\nscopes: {a: Caf\u00e9.}\n', 'latin1')),
    `DIRECTORY_MODEL names a file that cannot be read (ERR_ENCODING_INVALID_ENCODED_DATA): FILE. ${PATH}`,
  ],
  [
    'two bytes for each character',
    containing(Buffer.from('\ufeffserver: openldap\n', 'utf16le')),
    `DIRECTORY_MODEL names a file that cannot be read (ERR_ENCODING_INVALID_ENCODED_DATA): FILE. ${PATH}`,
  ],
  [
    'a tab',
    containing('users:\n\tid: uid\n'),
    `FILE:2:1: The YAML is malformed: Tabs are not allowed as indentation. ${SYNTAX}`,
  ],
  [
    'a quote without its end',
    containing('server: "openldap\n'),
    `FILE:2:1: The YAML is malformed: Missing closing "quote. ${SYNTAX}`,
  ],
  [
    'several documents',
    containing('users: {id: uid}\n---\ngroups: {id: cn}\n'),
    `FILE:2:1: The YAML is malformed: a second document begins here. ${SYNTAX}`,
  ],
  [
    'many levels',
    containing(`users: ${'['.repeat(40_000)}`),
    `FILE:1:1: The YAML is malformed: it has too many levels. ${SYNTAX}`,
  ],
  [
    'a duplicate key',
    containing('users:\n  id: uid\n  id: cn\n'),
    'FILE:3:3: The key «id» occurs twice. Keep one of them.',
  ],
  [
    'a tag',
    containing('users: {id: !!js/function uid}\n'),
    `FILE:1:13: The YAML is malformed: Unresolved tag: tag:yaml.org,2002:js/function. ${SYNTAX}`,
  ],
  [
    'a merge key',
    containing('%YAML 1.1\n---\nusers: {<<: {id: uid}}\n'),
    'FILE:3:9: «<<» in users is unknown. Remove it: the keys here are base, filter, id, name, fields, disabled, memberOf, photoStamp.',
  ],
  [
    'another version of YAML',
    containing('%YAML 9.9\n---\nserver: openldap\n'),
    `FILE:1:7: The YAML is malformed: Unsupported YAML version 9.9. ${SYNTAX}`,
  ],
  [
    'another directive',
    containing('%LDAP 3\n---\nserver: openldap\n'),
    `FILE:1:1: The YAML is malformed: Unknown directive %LDAP. ${SYNTAX}`,
  ],
  [
    'an alias without an anchor',
    containing('users: {id: *name}\n'),
    'FILE:1:13: Unresolved alias (the anchor must be set before the alias): name. Write the values out.',
  ],
  [
    'many aliases',
    containing(`users: {name: [&a cn, ${'*a,'.repeat(1000)} *a]}\n`),
    'FILE:1:23: More than 1000 aliases. Write the values out.',
  ],
  [
    'aliases of many values',
    containing(
      'a: &a [x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c]\n',
    ),
    `FILE:2:8: ${ALIAS}`,
  ],
  ['ill-formed Unicode', containing('scopes: {contact: "\\ud800"}\n'), `FILE:1:19: ${LINE}`],
  ['an escaped control character', containing('scopes: {contact: "a\\x7fb"}\n'), `FILE:1:19: ${LINE}`],
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
