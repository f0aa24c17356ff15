// Started by work-directory.mjs with the directory of a run. Its standard input closes when the run has ended: then it
// ends the processes that work in the directory, and removes it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , directory] = process.argv;
/** Attempts to remove what processes that are just ending may still write to. */
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

/** Commands of pages and servers work there, and nobody else. */
function endProcesses() {
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (isInside(readlinkSync(`/proc/${id}/cwd`))) process.kill(Number(id), 'SIGKILL');
    } catch {
      // It has ended, or is somebody else's.
    }
  }
}

function unmount() {
  const mounted = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  for (const path of mounted.map((line) => line.split(' ')[1] ?? '').filter(isInside))
    execFileSync('umount', ['--lazy', path]);
}
