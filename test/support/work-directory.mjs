// The directory of a run of tests, which contains all files that they write and is removed at the end.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Creates the directory, unless another project of the same run has. */
export default function makeWorkDirectory() {
  if (process.env.TEST_WORK_DIRECTORY !== undefined) return;
  const work = mkdtempSync(join(tmpdir(), 'directory-test-'));
  // PostgreSQL runs as another user.
  chmodSync(work, 0o755);
  process.env.TEST_WORK_DIRECTORY = work;
  const temporary = join(work, 'tmp');
  mkdirSync(temporary);
  chmodSync(temporary, 0o1777);
  process.env.TMPDIR = temporary;
  guard(work);
}

/** Removes the directory after this process has ended, also by SIGKILL or SIGINT. */
function guard(directory) {
  const program = fileURLToPath(new URL('clean-up.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, directory], {
    // Ctrl-C ends all processes in the group of the terminal.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.unref();
  child.unref();
}
