// Started by work-directory.mjs with the directory of a run. When the run has ended, its standard input closes: then it ends the
// processes that work in the directory, and removes the directory.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , directory] = process.argv;
/** Attempts to remove the directory, because ending processes may still write to it. */
const ATTEMPTS = 100;

process.stdin.resume().once('close', async () => {
  for (let attempt = 0; attempt < ATTEMPTS && existsSync(directory); attempt++) {
    try {
      endProcesses();
      unmount();
      rmSync(directory, { recursive: true, force: true });
    } catch {
      await sleep(100);
    }
  }
});

const isInside = (path) => path === directory || path.startsWith(`${directory}/`);

/** Only commands of pages and servers of the tests work there. */
function endProcesses() {
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (isInside(readlinkSync(`/proc/${id}/cwd`))) process.kill(Number(id), 'SIGKILL');
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}

function unmount() {
  const mounted = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  for (const path of mounted.map((line) => line.split(' ')[1] ?? '').filter(isInside))
    execFileSync('umount', ['--lazy', path]);
}
