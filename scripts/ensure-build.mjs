// Compiles the project unless the build was made from the same files, so that a second start is fast.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DIGEST_FILE, hashFiles, INPUTS, readDigest } from './build-inputs.mjs';

const ROOT = join(import.meta.dirname, '..');

function compile() {
  if (!existsSync(join(ROOT, 'node_modules/@nestjs/cli'))) {
    console.error('The sources are not built, and the compiler is not installed: npm ci && npm run build');
    return 1;
  }
  console.error('Building, once, about 20 s');
  // The output of the compiler goes to standard error, because standard output is for the output of a command.
  const stdio = ['ignore', process.stderr, 'inherit'];
  return spawnSync('npm', ['run', '--silent', 'compile'], { cwd: ROOT, stdio }).status ?? 1;
}

if (readDigest(join(ROOT, DIGEST_FILE)) !== hashFiles(ROOT, INPUTS)) {
  const status = compile();
  if (status !== 0) process.exit(status);
}
