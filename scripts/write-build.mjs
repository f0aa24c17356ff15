// Writes the package's version and the commit for the field buildInfo: node scripts/write-build.mjs [FILE]
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/** An image is built without the history of the repository: BUILD_COMMIT is the commit. */
function findCommit() {
  if (process.env.BUILD_COMMIT) return process.env.BUILD_COMMIT;
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

const [, , file = 'dist/build.json'] = process.argv;
writeFileSync(file, `${JSON.stringify({ version, commit: findCommit() })}\n`);

// `directory` in package.json must be executable.
const PROGRAM = 'dist/cli.js';
if (existsSync(PROGRAM)) chmodSync(PROGRAM, 0o755);
