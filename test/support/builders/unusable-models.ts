import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A path that cannot be a model file, and the whole problem: the path is `FILE`. */
export type UnusableModel = readonly [what: string, write: (file: string) => void, problem: string];

const containing = (content: string | Buffer) => (file: string) => writeFileSync(file, content);

const LINE = 'FILE:1:19: scopes.contact: expected one line of text that can be shown';

/** Each problem has a place where there is one. */
export const UNUSABLE_MODELS: readonly UnusableModel[] = [
  [
    'a missing file',
    () => undefined,
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (ENOENT): FILE`,
  ],
  [
    'a directory',
    (file) => mkdirSync(file),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (no file of at most 100000 bytes): FILE`,
  ],
  [
    'a pipe without a writer',
    (file) => execFileSync('mkfifo', [file]),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (no file of at most 100000 bytes): FILE`,
  ],
  [
    'a loop of links',
    (file) => symlinkSync(file, file),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (ELOOP): FILE`,
  ],
  [
    'a large file',
    containing(`# ${'x'.repeat(100_000)}`),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (no file of at most 100000 bytes): FILE`,
  ],
  ['an empty file', containing(''), 'FILE:1:1: the file is empty'],
  ['a file of spaces', containing(' \n---\n\n'), 'FILE:1:1: the file is empty'],
  [
    'another encoding',
    containing(Buffer.from('server: openldap\nscopes: {a: Caf\u00e9.}\n', 'latin1')),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (ERR_ENCODING_INVALID_ENCODED_DATA): FILE`,
  ],
  [
    'two bytes for each character',
    containing(Buffer.from('\ufeffserver: openldap\n', 'utf16le')),
    `DIRECTORY_MODEL names a file that cannot be read as UTF-8 (ERR_ENCODING_INVALID_ENCODED_DATA): FILE`,
  ],
  [
    'a tab',
    containing('users:\n\tid: uid\n'),
    `FILE:2:1: the YAML is malformed: Tabs are not allowed as indentation`,
  ],
  [
    'a quote without its end',
    containing('server: "openldap\n'),
    `FILE:2:1: the YAML is malformed: Missing closing "quote`,
  ],
  [
    'several documents',
    containing('users: {id: uid}\n---\ngroups: {id: cn}\n'),
    `FILE:2:1: the YAML is malformed: Source contains multiple documents; please use YAML.parseAllDocuments()`,
  ],
  [
    'a duplicate key',
    containing('users:\n  id: uid\n  id: cn\n'),
    'FILE:3:3: the YAML is malformed: Map keys must be unique',
  ],
  [
    'a tag',
    containing('users: {id: !!js/function uid}\n'),
    `FILE:1:13: the YAML is malformed: Unresolved tag: tag:yaml.org,2002:js/function`,
  ],
  [
    'a merge key',
    containing('%YAML 1.1\n---\nusers: {<<: {id: uid}}\n'),
    'FILE:3:9: users.<<: unknown key. Known: base, filter, id, name, fields, disabled, memberOf, photoStamp',
  ],
  [
    'another version of YAML',
    containing('%YAML 9.9\n---\nserver: openldap\n'),
    `FILE:1:7: the YAML is malformed: Unsupported YAML version 9.9`,
  ],
  [
    'another directive',
    containing('%LDAP 3\n---\nserver: openldap\n'),
    `FILE:1:1: the YAML is malformed: Unknown directive %LDAP`,
  ],
  [
    'an alias without an anchor',
    containing('users: {id: *name}\n'),
    'FILE:1:1: the YAML is malformed: Unresolved alias (the anchor must be set before the alias): name',
  ],
  [
    'aliases of many values',
    containing(
      'a: &a [x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c]\n',
    ),
    'FILE:1:1: the YAML is malformed: Excessive alias count indicates a resource exhaustion attack',
  ],
  ['ill-formed Unicode', containing('scopes: {contact: "\\ud800"}\n'), LINE],
  ['an escaped control character', containing('scopes: {contact: "a\\x7fb"}\n'), LINE],
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
