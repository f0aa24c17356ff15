// Writes the package's version and the commit for the field buildInfo: node scripts/write-build.mjs [FILE]
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { DIGEST_FILE, hashFiles, INPUTS } from './build-inputs.mjs';

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

const [, , file] = process.argv;
writeFileSync(file ?? 'dist/build.json', `${JSON.stringify({ version, commit: findCommit() })}\n`);
// scripts/ensure-build.mjs compares it before a start.
if (file === undefined) writeFileSync(DIGEST_FILE, hashFiles('.', INPUTS));
