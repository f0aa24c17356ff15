import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ERROR_CODES } from '../../src/common/errors.js';
import { SETTING_GROUPS } from '../../src/config/settings.js';
import { findWord } from '../../tools/eslint/plain-words.mjs';
import { formatEnvironmentExample, formatSettingsPage } from '../../tools/settings/format-settings.mjs';
import { commandBlocksOf, pagesWithCommands } from '../support/builders/documents.js';

const ROOT = join(__dirname, '../..');

describe('docs/settings.md and .env.example', () => {
  it('match the output of `npm run settings`', () => {
    expect(read('docs/settings.md')).toBe(formatSettingsPage(SETTING_GROUPS));
    expect(read('.env.example')).toBe(formatEnvironmentExample(SETTING_GROUPS));
  });

  it('has no effect if it is copied unchanged', () => {
    const settings = read('.env.example')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(settings).toEqual([]);
  });
});

describe('docs/install.md', () => {
  const text = commandBlocksOf('docs/install.md')
    .map((block) => block.text)
    .join('\n');

  it('installs Node.js where the unit starts it', () => {
    const [, installed] = / -C (\S+) --strip-components=1/.exec(text) ?? [];
    const [, started] = /^ExecStart=(\S+)\/bin\/node /m.exec(text) ?? [];
    expect([installed, started]).toEqual(['/usr/local', '/usr/local']);
  });

  it('installs the packages of its commands', () => {
    const [, installed = ''] = /apt-get install (.+)/.exec(text) ?? [];
    const packages = {
      curl: 'curl',
      git: 'git',
      ldapmodify: 'ldap-utils',
      openssl: 'openssl',
      psql: 'postgresql',
      slappasswd: 'slapd',
      sudo: 'sudo',
    };
    for (const [program, name] of Object.entries(packages)) {
      expect(text).toMatch(new RegExp(`\\b${program} `));
      expect(installed.split(' ')).toContain(name);
    }
  });
});

describe('the table of errors', () => {
  it('has a row for every code, and for no other', () => {
    const [, table = ''] = read('docs/http.md').split(/^## Errors$/m);
    const shown = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code]) => code);
    expect(shown.sort()).toEqual([...ERROR_CODES, ...mediaCodes()].sort());
  });
});

describe('the pages of docs/', () => {
  it('are at most eleven, beside their index and the page of the schema, which a program writes', () => {
    const names = readdirSync(join(ROOT, 'docs')).filter(
      (name) => name.endsWith('.md') && !['README.md', 'schema.md'].includes(name),
    );
    expect(names.length).toBeLessThanOrEqual(11);
  });

  it('are all in their index', () => {
    const names = readdirSync(join(ROOT, 'docs')).filter(
      (name) => name.endsWith('.md') && name !== 'README.md',
    );
    const index = read('docs/README.md');
    expect(names.filter((name) => !index.includes(`](${name}`))).toEqual([]);
  });
});

describe('the decisions', () => {
  it('are all in their index, in order', () => {
    const records = readdirSync(join(ROOT, 'docs/adr')).filter((name) => /^\d{4}-/.test(name));
    const listed = [...read('docs/adr/README.md').matchAll(/\[(\d{4})\]\(([^)]+)\)/g)];
    expect(listed.map(([, number, file]) => ({ number, file }))).toEqual(
      records.sort().map((file) => ({ number: file.slice(0, 4), file })),
    );
  });

  it('are short, except the table of dependencies', () => {
    const records = readdirSync(join(ROOT, 'docs/adr')).filter((name) => /^\d{4}-/.test(name));
    const lines = (name: string) => read(`docs/adr/${name}`).trimEnd().split('\n').length;
    expect(records.filter((name) => lines(name) > 30)).toEqual(['0012-dependencies.md']);
  });

  it('explain every dependency, and no other package', () => {
    const table = rowsOf(read('docs/adr/0012-dependencies.md'));
    const named = table.flatMap(([packages = '']) =>
      [...packages.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    expect(named.sort()).toEqual(Object.keys(dependencies).sort());
  });
});

describe.each(pages())('%s', (page) => {
  it('has no broken links', () => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !leadsSomewhere(page, target))).toEqual([]);
  });

  it('refers to existing files of the source', () => {
    const named = [
      ...read(page).matchAll(/(?<![\w/])(?:src|test|scripts|sample|ldap|deploy)\/[\w.*/-]*[\w/]/g),
    ];
    const missing = named
      .map(([path]) => path)
      .filter((path) => !path.includes('*') && !TO_BE_MADE.has(path))
      .filter((path) => ![ROOT, join(ROOT, dirname(page))].some((from) => existsSync(join(from, path))));
    expect(missing).toEqual([]);
  });
});

/** Languages of fences without commands. Commands are indented, or in a fence marked `sh`. */
const KINDS = ['graphql', 'json', 'ldif', 'mermaid', 'text', 'yaml'];
const COMMAND = /^(?:[$#>] |(?:sudo|npm|npx|node|curl|docker|kubectl|psql|ldap\w+|directory) )/m;

describe.each(pages())('%s', (page) => {
  it('has commands only in blocks that are run', () => {
    const text = read(page);
    expect(text.match(/^(?: +```|\s*~~~).*$/gm)).toBeNull();
    const fences = [...text.matchAll(/^```(\S+)\n(.*?)^```$/gms)];
    const strange = fences.filter(([, kind = '']) => ![...KINDS, 'sh'].includes(kind));
    expect(strange.map(([fence]) => fence)).toEqual([]);
    const hidden = fences.filter(([, kind, inside = '']) => kind === 'text' && COMMAND.test(inside));
    expect(hidden.map(([fence]) => fence)).toEqual([]);
    const isRun = pagesWithCommands().includes(page);
    expect(isRun ? [] : commandBlocksOf(page)).toEqual([]);
  });
});

/** Words of the sample directory. */
const SAMPLE_WORDS = ['room', 'rooms'];

describe.each(pages())('%s', (page) => {
  it('uses standard terms', () => {
    const prose = read(page)
      .replace(/^```.*?^```$/gms, '')
      .replace(/`[^`]*`/g, '');
    expect(findWord(prose, false, SAMPLE_WORDS)).toBeNull();
  });
});

describe.each(pagesWithCommands())('%s', (page) => {
  it('marks the language of every fence, and gives a reason for blocks of commands that are not run', () => {
    // Fences alternate: an opening one with a language, and a closing one.
    const fences = read(page).match(/^```.*$/gm) ?? [];
    expect(fences.filter((fence, index) => (index % 2 === 0) === (fence === '```'))).toEqual([]);
    const reasons = commandBlocksOf(page).filter(({ reason }) => reason !== null);
    expect(reasons).toHaveLength(read(page).match(/^<!-- not run: /gm)?.length ?? 0);
  });
});

describe('the source', () => {
  it('refers to existing pages', () => {
    const missing = sourceFiles().flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/(?:adr\/\d{4}|[\w-]+\.md)/g)]
        .map(([page]) => page)
        .filter((page) => !isPage(page))
        .map((page) => `${file}: ${page}`),
    );
    expect(missing).toEqual([]);
  });
});

/** Examples of files that a reader creates. */
const TO_BE_MADE = new Set([
  'src/database/migrations/NNNN-nickname',
  'deploy/kubernetes-example/ca.pem',
  'deploy/secrets/',
  'deploy/secrets/ldap-password',
]);

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The cells of all rows of the tables in a text, without headings. */
function rowsOf(text: string): string[][] {
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const isRule = (row: string[] | undefined) => row?.every((cell) => /^:?-+:?$/.test(cell)) === true;
  return rows.filter((row, index) => !isRule(row) && !isRule(rows[index + 1]));
}

/** Codes of media responses only: a type that is not available at run time. */
function mediaCodes(): string[] {
  const [, type = ''] = /type RejectionCode =([^;]*);/.exec(read('src/http/rejection.ts')) ?? [];
  const codes = [...type.matchAll(/'([A-Z_]+)'/g)].map(([, code = '']) => code);
  return codes.filter((code) => !(ERROR_CODES as readonly string[]).includes(code));
}

function leadsSomewhere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsOf(read(file)).includes(anchor);
}

/** Anchors of headings as forges create them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isPage(path: string): boolean {
  if (existsSync(join(ROOT, path))) return true;
  return readdirSync(join(ROOT, 'docs/adr')).some((name) => `docs/adr/${name}`.startsWith(`${path}-`));
}

function pages(): string[] {
  return filesBelow('.', (name) => name.endsWith('.md'));
}

function sourceFiles(): string[] {
  return [...filesBelow('src', () => true), ...filesBelow('scripts', () => true), 'jest.config.mjs'];
}

/** Files of the project, without installed, built or recorded files. */
function filesBelow(directory: string, isWanted: (name: string) => boolean): string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      const isForeign =
        entry.name.startsWith('.') || ['node_modules', 'dist', 'coverage'].includes(entry.name);
      return isForeign ? [] : filesBelow(path, isWanted);
    }
    return isWanted(entry.name) ? [path] : [];
  });
}
