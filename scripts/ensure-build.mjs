// Compiles the project unless the build is newer than the sources, so that a second start is fast.
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const INPUTS = [
  'src',
  'tools/reference',
  'scripts/build-reference.mjs',
  'web/explorer/source',
  'web/explorer/vite.config.mjs',
  'web/explorer/patch-graphiql.mjs',
  'docs/http.md',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.build.json',
  '.swcrc',
];
/** Written at the end of a successful build. */
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

// The output of the compiler goes to standard error, because standard output is for the output of a command.
if (!isBuilt())
  execFileSync('npm', ['run', '--silent', 'compile'], { stdio: ['ignore', process.stderr, 'inherit'] });
