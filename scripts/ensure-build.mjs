// Compiles when there is nothing compiled, or something older than the sources: a second start begins at once.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const INPUTS = [
  'src',
  'tools/reference',
  'web/explorer/source',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'docs/http.md',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.build.json',
  '.swcrc',
];
/** Written last by a build that has succeeded. */
const OUTPUT = 'dist/build.json';

function newestIn(path) {
  const { mtimeMs } = statSync(path);
  const names = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  return names.reduce((newest, name) => Math.max(newest, statSync(join(path, name)).mtimeMs), mtimeMs);
}

function isBuilt() {
  const built = statSync(OUTPUT, { throwIfNoEntry: false });
  return built !== undefined && INPUTS.every((path) => newestIn(path) <= built.mtimeMs);
}

// What the compiler says goes to standard error: the answer of a command is alone on standard output.
if (!isBuilt())
  execFileSync('npm', ['run', '--silent', 'compile'], { stdio: ['ignore', process.stderr, 'inherit'] });
