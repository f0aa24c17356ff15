import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';

const SOURCE = join(__dirname, '../../src');

/**
 * The layers, lowest first. A module imports modules of the layers below its own; `allowed` names what it may import
 * within its own layer. docs/architecture.md shows the same table and says what each module is for.
 */
const LAYERS: { name: string; modules: string[]; allowed: Record<string, string[]> }[] = [
  { name: 'foundation', modules: ['common', 'config', 'pages'], allowed: { config: ['common'] } },
  { name: 'infrastructure', modules: ['database', 'ldap', 'limits', 'http'], allowed: {} },
  {
    name: 'API core',
    modules: ['auth', 'access-log', 'graphql'],
    allowed: { 'access-log': ['auth'], graphql: ['auth', 'access-log'] },
  },
  {
    name: 'features',
    modules: [
      'users',
      'groups',
      'memberships',
      'nodes',
      'field-references',
      'search',
      'media',
      'changes',
      'service-accounts',
      'sources',
      'mirror',
      'previews',
      'health',
      'webhooks',
    ],
    allowed: {
      users: ['groups', 'memberships'],
      groups: ['users', 'memberships'],
      memberships: ['users', 'groups'],
      nodes: ['users', 'groups'],
      'field-references': ['users', 'groups'],
      search: ['users', 'groups'],
      media: ['users'],
      changes: ['users', 'groups'],
      sources: ['users', 'groups'],
      mirror: ['users', 'groups', 'sources', 'changes', 'media'],
      previews: ['users', 'groups', 'memberships', 'sources', 'mirror'],
      health: ['mirror'],
      webhooks: ['changes', 'mirror'],
    },
  },
  {
    name: 'application',
    modules: ['monitoring', 'identity-provider', 'explorer', 'commands', '(composition)'],
    allowed: {
      commands: ['identity-provider', 'monitoring', '(composition)'],
      '(composition)': ['monitoring', 'identity-provider', 'explorer', 'commands'],
    },
  },
];
/** Files directly in src/, which combine the modules. */
const COMPOSITION = '(composition)';

/**
 * Pure files of higher layers that the model of the directory consists of: the tables of built-in fields, which the model
 * extends, and the grammars of filters and DNs, which validate its values at the start.
 */
const MODEL_IMPORTS = /^(users\/user\.fields|groups\/group\.fields|ldap\/(filter|naming)\/[\w-]+)\.ts$/;

/** Files that use neither Nest, a connection, the clock nor the environment. */
const PURE = [
  'changes/retention.ts',
  'commands/changes-text.ts',
  'common/back-off.ts',
  'common/cursor.ts',
  'common/fold.ts',
  'common/identity.ts',
  'ldap/naming/dn.ts',
  'ldap/ldif/ldif.ts',
  'ldap/ldif/ldif-record.ts',
  'ldap/filter/filter.ts',
  'ldap/client/message.ts',
  'groups/group.fields.ts',
  'mirror/map/entry-reader.ts',
  'mirror/map/map.ts',
  'media/signing/signed-url.ts',
  'previews/rights.ts',
  'previews/values.ts',
  'previews/records.ts',
  'previews/group-records.ts',
  'service-accounts/secret.ts',
  'users/user.fields.ts',
];

const files = listFiles(SOURCE).filter((file) => file.endsWith('.ts') && !/\.(spec|d)\.ts$/.test(file));

describe('the layers', () => {
  it('contain every module', () => {
    const modules = readdirSync(SOURCE).filter((name) => statSync(join(SOURCE, name)).isDirectory());
    expect(modules.sort()).toEqual(
      LAYERS.flatMap((layer) => layer.modules)
        .filter((module) => module !== COMPOSITION)
        .sort(),
    );
  });

  it('are documented in docs/architecture.md', () => {
    const text = readFileSync(join(__dirname, '../../docs/architecture.md'), 'utf8');
    const rows = [...text.matchAll(/^\| \d ([^|]+)\| ([^|]+)\| ([^|]+)\|$/gm)].reverse();
    const expected = LAYERS.map(({ name, modules, allowed }) => [
      name,
      modules.join(' · '),
      Object.entries(allowed)
        .map(([module, others]) => `${module}: ${others.join(', ')}`)
        .join('; '),
    ]);
    expect(rows.map(([, ...cells]) => cells.map((cell) => cell.trim()))).toEqual(expected);
  });

  it('are imported downwards only', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .local.filter((target) => !mayImport(moduleOf(file), moduleOf(target)))
        .filter((target) => !(file.startsWith('config/model/') && MODEL_IMPORTS.test(target)))
        .map((target) => `${file} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCycle(new Map(files.map((file) => [file, importsOf(file).local])))).toBeNull();
  });

  it('exports each name once', () => {
    const declared = new Map<string, string[]>();
    for (const file of files)
      for (const name of exportsOf(file)) declared.set(name, [...(declared.get(name) ?? []), file]);
    expect([...declared].filter(([, declaring]) => declaring.length > 1)).toEqual([]);
  });

  it('does not import development dependencies', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(SOURCE, '../package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const wrong = files.flatMap((file) => {
      const foreign = importsOf(file).packages.filter((name) => packageOf(name) in devDependencies);
      return foreign.map((target) => `${file} → ${target}`);
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
    // The programs of PostgreSQL get the search path of programs, and nothing else.
    const allowed = [
      'config/config.ts',
      'config/environment-file.ts',
      'database/embedded/postgres-programs.ts',
    ];
    const readers = files.filter((file) =>
      /process\.(env|loadEnvFile)/.test(readFileSync(join(SOURCE, file), 'utf8')),
    );
    expect(readers.filter((file) => !allowed.includes(file))).toEqual([]);
  });

  it('removes nothing in a migration that a process of the previous release uses', () => {
    const upOf = (file: string) => readFileSync(join(SOURCE, file), 'utf8').split('async down(')[0] ?? '';
    const migrations = files.filter((file) => file.startsWith('database/migrations/0'));
    expect(migrations).not.toEqual([]);
    const removal = /\balter table \w+\s+(drop|rename)\b|\bdrop (table|view|column)\b/;
    expect(migrations.filter((file) => removal.test(upOf(file)))).toEqual([]);
  });

  it('has tests beside the code that start nothing', () => {
    const tests = listFiles(SOURCE).filter((file) => file.endsWith('.spec.ts'));
    expect(tests.length).toBeGreaterThan(50);
    const starts = /\.listen\(|\b(spawn|fork|execFile)\(|new Worker\(|TestService/;
    expect(tests.filter((file) => starts.test(readFileSync(join(SOURCE, file), 'utf8')))).toEqual([]);
  });

  it('has no forwardRef, no default export, no request-scoped provider and no any', () => {
    const pattern = /forwardRef|export default|Scope\.REQUEST|: any\b|as any\b|<any>/;
    expect(files.filter((file) => pattern.test(readFileSync(join(SOURCE, file), 'utf8')))).toEqual([]);
  });
});

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  const layer = (module: string) => LAYERS.findIndex(({ modules }) => modules.includes(module));
  return layer(to) < layer(from) || (LAYERS[layer(from)]?.allowed[from]?.includes(to) ?? false);
}

function moduleOf(file: string): string {
  const [module = ''] = file.split('/');
  return file.includes('/') ? module : COMPOSITION;
}

/** The imports of a file: files relative to src, and packages. Type imports count, because they also couple files. */
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

/** The names that a file declares and exports. Those of overloads occur once. */
function exportsOf(file: string): Set<string> {
  const text = readFileSync(join(SOURCE, file), 'utf8');
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const exported = statements.filter(
    (statement) =>
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword),
  );
  return new Set(
    exported.flatMap((statement) => {
      const declarations = ts.isVariableStatement(statement)
        ? statement.declarationList.declarations
        : [statement as ts.DeclarationStatement];
      return declarations.flatMap(({ name }) =>
        name !== undefined && ts.isIdentifier(name) ? [name.text] : [],
      );
    }),
  );
}

/** The package that contains a module. */
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
