import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';

const SOURCE = join(__dirname, '../src');

/**
 * The rooms of the house, front to back: a room may import those on lines above its own, and `besides` names what
 * it may import on its own line. docs/architecture.md says what each is for.
 */
const TABLE: { rooms: string[]; besides?: Record<string, string[]> }[] = [
  { rooms: ['common'] },
  { rooms: ['config'] },
  { rooms: ['limits', 'pages'] },
  {
    rooms: ['database', 'ldap', 'auth', 'access-log', 'graphql'],
    besides: { 'access-log': ['auth', 'database'], graphql: ['auth', 'database', 'access-log'] },
  },
  { rooms: ['users', 'groups', 'service-accounts', 'sources'] },
  { rooms: ['memberships'] },
  { rooms: ['media', 'search', 'changes'] },
  { rooms: ['mirror'] },
  { rooms: ['health', 'http', 'identity-provider', 'previews', 'explorer', 'reference'] },
  { rooms: ['monitoring'] },
  { rooms: ['start'] },
  { rooms: ['(composition)'] },
  { rooms: ['commands'], besides: {} },
];
/** The composition root: files that stand in no room. */
const COMPOSITION = '(composition)';

/** Files that neither touch Nest, a connection, the clock nor the environment. */
const PURE = [
  'changes/retention.ts',
  'common/back-off.ts',
  'common/cursor.ts',
  'common/fold.ts',
  'ldap/dn.ts',
  'ldap/ldif.ts',
  'ldap/ldif-record.ts',
  'ldap/filter.ts',
  'ldap/message.ts',
  'ldap/message-frames.ts',
  'ldap/sync-stage.ts',
  'mirror/map.ts',
  'mirror/relate.ts',
  'mirror/plan.ts',
  'mirror/guard.ts',
  'media/signed-url.ts',
  'previews/policy.ts',
  'previews/validate.ts',
  'previews/user-record.ts',
  'previews/group-record.ts',
  'previews/membership-record.ts',
  'previews/modify-entry.ts',
  'previews/text-record.ts',
  'previews/with-change.ts',
  'service-accounts/secret.ts',
];

const files = listFiles(SOURCE).filter((file) => file.endsWith('.ts') && !/\.(spec|d)\.ts$/.test(file));

describe('the house', () => {
  it('has no rooms but those of the table', () => {
    const rooms = readdirSync(SOURCE).filter((name) => statSync(join(SOURCE, name)).isDirectory());
    expect(rooms.sort()).toEqual(
      TABLE.flatMap((line) => line.rooms)
        .filter((room) => room !== COMPOSITION)
        .sort(),
    );
  });

  it('stands in docs/architecture.md as it is here', () => {
    const text = readFileSync(join(__dirname, '../docs/architecture.md'), 'utf8');
    const floors = [...text.matchAll(/^\| \d+ +\| ([^|]+)\| ([^|]+)\|$/gm)].reverse();
    const written = TABLE.map(({ rooms, besides = {} }) => [
      rooms.join(' · '),
      Object.entries(besides)
        .map(([room, others]) => `${room}: ${others.join(', ')}`)
        .join('; '),
    ]);
    expect(floors.map(([, rooms = '', besides = '']) => [rooms.trim(), besides.trim()])).toEqual(written);
  });

  it('is imported from front to back only', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .local.filter((target) => !mayImport(roomOf(file), roomOf(target)))
        .map((target) => `${file} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has no file that imports itself through others', () => {
    expect(findCycle(new Map(files.map((file) => [file, importsOf(file).local])))).toBeNull();
  });

  it('runs without the packages of its build', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(SOURCE, '../package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const isBuild = (file: string) => file.startsWith('reference/build/');
    const wrong = files
      .filter((file) => !isBuild(file))
      .flatMap((file) => {
        const { local, packages } = importsOf(file);
        const foreign = packages.map(packageOf).filter((name) => name in devDependencies);
        return [...local.filter(isBuild), ...foreign].map((target) => `${file} → ${target}`);
      });
    expect(wrong).toEqual([]);
  });

  it.each(PURE)('keeps %s pure', (file) => {
    const { packages } = importsOf(file);
    expect(
      packages.filter((name) =>
        /^(@nestjs|typeorm|pg$|node:(fs|net|http|worker_threads|child_process))/.test(name),
      ),
    ).toEqual([]);
    const text = readFileSync(join(SOURCE, file), 'utf8');
    expect(text).not.toMatch(/process\.env|Date\.now\(|new Date\(\)|Math\.random|randomBytes\(/);
  });

  it('reads the environment in one place', () => {
    // `check` shows which settings are set, and the build script is not part of the service.
    const allowed = ['config/config.ts', 'config/environment-file.ts', 'commands/check.command.ts'];
    const readers = files.filter((file) =>
      /process\.(env|loadEnvFile)/.test(readFileSync(join(SOURCE, file), 'utf8')),
    );
    expect(readers.filter((file) => !allowed.includes(file))).toEqual([]);
  });

  it('has no forwardRef, no default export, no request-scoped provider and no any', () => {
    const pattern = /forwardRef|export default|Scope\.REQUEST|: any\b|as any\b|<any>/;
    expect(files.filter((file) => pattern.test(readFileSync(join(SOURCE, file), 'utf8')))).toEqual([]);
  });
});

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  const line = (room: string) => TABLE.findIndex(({ rooms }) => rooms.includes(room));
  return (
    line(to) < line(from) ||
    (TABLE[line(from)]?.besides?.[from]?.includes(to) ?? false) ||
    isEntrance(from, to)
  );
}

/** cli.ts opens the commands, which open the house. */
function isEntrance(from: string, to: string): boolean {
  return from === COMPOSITION && to === 'commands';
}

function roomOf(file: string): string {
  const [room = ''] = file.split('/');
  return file.includes('/') ? room : COMPOSITION;
}

/** What a file imports: files of ours, relative to src, and packages. Types count: they tie files together too. */
function importsOf(file: string): { local: string[]; packages: string[] } {
  const text = readFileSync(join(SOURCE, file), 'utf8');
  const names = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  return {
    local: names
      .filter((name) => name.startsWith('.'))
      .map((name) => normalize(join(dirname(file), name)).replace(/\.js$/, '.ts')),
    packages: names.filter((name) => !name.startsWith('.')),
  };
}

/** The package that a module is of. */
function packageOf(module: string): string {
  return module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/');
}

function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const target of graph.get(file) ?? []) {
      const cycle = visit(target, [...path, file]);
      if (cycle !== null) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((file) => relative('.', file));
}
