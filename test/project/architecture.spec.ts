import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';
import type { Database } from '../../src/database/database.js';
import type { Reader } from '../../src/database/statements/statement.js';

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
      'scim',
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
      scim: ['users', 'groups', 'memberships', 'field-references', 'media'],
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

  it('are imported downwards only', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .local.filter((target) => !mayImport(moduleOf(file), moduleOf(target)))
        .filter((target) => !(file.startsWith('config/model/') && MODEL_IMPORTS.test(target)))
        .map((target) => `${file} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('let only what was made for a viewer read users', () => {
    const isReader: Database extends Reader ? true : false = false;
    expect(isReader).toBe(false);
  });

  it('has no import cycle', () =>
    expect(findCycle(new Map(files.map((file) => [file, importsOf(file).local])))).toBeNull());

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
