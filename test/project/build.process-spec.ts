import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'build-'));
});

afterAll(() => {
  rmSync(work, { recursive: true });
});

function writeBuild(environment: Record<string, string>): unknown {
  const file = join(work, 'build.json');
  execFileSync(process.execPath, ['scripts/write-build.mjs', file], {
    env: { PATH: process.env.PATH, ...environment },
  });
  return JSON.parse(readFileSync(file, 'utf8'));
}

describe('the recorded build', () => {
  it('contains the version of the package and the commit of the checkout', () => {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    expect(writeBuild({})).toEqual({ version, commit });
  });

  it('contains the commit of the environment if there is no history', () => {
    expect(writeBuild({ BUILD_COMMIT: 'abc1234' })).toEqual({ version, commit: 'abc1234' });
  });
});

describe('a start after a build', () => {
  let checkout: string;

  beforeAll(() => {
    checkout = join(work, 'checkout');
    const files = ['src', 'scripts', 'web/explorer/source', '.swcrc', 'package.json'];
    const settings = ['package-lock.json', 'nest-cli.json', 'tsconfig.build.json'];
    const explorer = [
      'web/explorer/tsconfig.json',
      'web/explorer/vite.config.mjs',
      'web/explorer/patch-graphiql.mjs',
    ];
    for (const file of [...files, ...settings, ...explorer])
      cpSync(file, join(checkout, file), { recursive: true });
    mkdirSync(join(checkout, 'dist'));
    execFileSync(process.execPath, ['scripts/write-build.mjs'], { cwd: checkout });
  });

  function ensureBuild(): { status: number | null; stderr: string } {
    const script = join(checkout, 'scripts/ensure-build.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script], { cwd: work, encoding: 'utf8' });
    return { status, stderr };
  }

  it('compiles nothing after `npm prune`, which writes the same lock file again', () => {
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(checkout, 'package-lock.json'), later, later);
    expect(ensureBuild()).toEqual({ status: 0, stderr: '' });
  });

  it('explains what is missing where the sources are newer and the compiler is not installed', () => {
    appendFileSync(join(checkout, 'src/main.ts'), '\n');
    const { status, stderr } = ensureBuild();
    expect(status).toBe(1);
    expect(stderr).toBe(
      'The sources are not built, and the compiler is not installed: npm ci && npm run build\n',
    );
  });
});

describe('the program `directory`', () => {
  it('is linked by npm', () => {
    const checkout = join(work, 'linkable');
    mkdirSync(checkout);
    for (const path of ['bin', 'directory', 'package.json'])
      cpSync(path, join(checkout, path), { recursive: true, verbatimSymlinks: true });
    symlinkSync(join(process.cwd(), 'dist'), join(checkout, 'dist'));
    const prefix = join(work, 'global');
    const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', prefix];
    // As `npm link` in the checkout does, without its dependencies.
    execFileSync('npm', ['install', '--global', ...options, checkout], { stdio: 'pipe' });
    const program = join(prefix, 'bin/directory');
    const { status, stdout } = spawnSync(program, ['--version'], { cwd: work, encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, `${version}\n`]);
  });

  it('runs in every folder, through links, and prints JSON alone', () => {
    // The files of the image: without scripts/, so that nothing is compiled.
    const image = join(work, 'image');
    mkdirSync(image);
    for (const path of ['bin', 'directory', 'package.json'])
      cpSync(path, join(image, path), { recursive: true, verbatimSymlinks: true });
    symlinkSync(join(process.cwd(), 'dist'), join(image, 'dist'));
    symlinkSync(join(image, 'directory'), join(work, 'linked'));
    for (const program of [join(image, 'directory'), join(image, 'bin/directory'), join(work, 'linked')]) {
      const { status, stdout } = spawnSync(program, ['nothing', '--json'], { cwd: work, encoding: 'utf8' });
      expect([status, JSON.parse(stdout)]).toEqual([
        2,
        { error: expect.objectContaining({ code: 'WRONG_USE' }) as unknown },
      ]);
    }
  });
});

/** A package without a declaration in package.json. */
const acorn = jest.requireActual<{ parse: (text: string, options: object) => unknown }>('acorn');

describe('an older Node.js', () => {
  const { engines, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    engines: { node: string };
    scripts: Record<string, string>;
  };
  const GUARD = 'node bin/require-node.cjs && ';
  const isGuarded = (name: string): boolean => {
    const script = scripts[name] ?? '';
    const first = /^npm run (\S+)/.exec(script)?.[1];
    const isPreceded = `pre${name}` in scripts && isGuarded(`pre${name}`);
    return script.startsWith(GUARD) || isPreceded || (first !== undefined && isGuarded(first));
  };

  it.each([
    ['12.22.12', 1],
    ['18.20.8', 1],
    ['20.18.3', 1],
    ['20.19.0', 0],
    ['22.0.0', 0],
    ['100.1.0', 0],
  ])('%s ends every entry with one sentence: exit code %i', (version, code) => {
    const fake = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
    const preload = `data:text/javascript,${encodeURIComponent(fake)}`;
    for (const file of ['bin/require-node.cjs', 'bin/directory', 'dist/bundled/main.js']) {
      // The others start something.
      if (code === 0 && file !== 'bin/require-node.cjs') continue;
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, file], {
        encoding: 'utf8',
      });
      const sentence = `Node.js ${/\d+\.\d+/.exec(engines.node)?.[0] ?? ''} or later is required, this is ${version}\n`;
      expect([status, stdout, stderr]).toEqual([code, '', code === 0 ? '' : sentence]);
    }
  });

  it.each(['bin/require-node.cjs', 'bin/directory'])('of version 12 can parse %s', (file) => {
    expect(() =>
      acorn.parse(readFileSync(file, 'utf8'), { ecmaVersion: 2020, allowHashBang: true }),
    ).not.toThrow();
  });

  it('cannot run any npm script', () => {
    expect(Object.keys(scripts).filter((name) => !isGuarded(name))).toEqual([]);
  });
});
