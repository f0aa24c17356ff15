import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ERROR_CODES } from '../../src/common/errors.js';
import { SECRETS, SETTINGS } from '../../src/config/settings.js';

const ROOT = join(__dirname, '../..');

describe('docs/settings.md and .env.example', () => {
  const defaults = Object.entries(SETTINGS).map(([name, schema]) => {
    const value = schema.parse(undefined) as string | number | boolean | undefined;
    return [name, value?.toString() ?? ''] as const;
  });

  it('have every setting with its default, and no other', () => {
    const rows = [
      ...read('docs/settings.md').matchAll(/^\| `([A-Z_]+)`( °)? *\| (?:`([^`]*)`)? *\| [A-Z]/gim),
    ];
    expect(rows.map(([, name, , value = '']) => [name, value])).toEqual(defaults);
    expect(rows.filter(([, , mark]) => mark !== undefined).map(([, name]) => name)).toEqual(
      defaults.map(([name]) => name).filter((name) => SECRETS.has(name)),
    );
    const lines = [...read('.env.example').matchAll(/^#([A-Z_]+)=(.*)$/gm)];
    expect(lines.map(([, name, value]) => [name, value])).toEqual(defaults);
  });

  it('has no effect if it is copied unchanged', () => {
    const settings = read('.env.example')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(settings).toEqual([]);
  });
});

describe('the table of errors', () => {
  it('has a row for every code, and for no other', () => {
    const [, table = ''] = read('docs/http.md').split(/^## Errors$/m);
    const shown = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, code]) => code);
    expect(shown.sort()).toEqual([...ERROR_CODES, ...mediaCodes()].sort());
  });
});

describe.each(pages())('%s', (page) => {
  it('has no broken links', () => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !leadsSomewhere(page, target))).toEqual([]);
  });
});

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
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

function pages(): string[] {
  return filesBelow('.', (name) => name.endsWith('.md'));
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
