import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { variable } from './store.js';

/**
 * A directory that the first suite that needs it makes, and that all suites of the run copy.
 * @param make fills an empty directory; it is called again after a failure, or when the process that called it ended
 * @returns the path of the directory, which nothing may change
 */
export async function makeTemplate(
  name: string,
  make: (directory: string) => Promise<void>,
): Promise<string> {
  const template = join(variable('TEST_WORK_DIRECTORY'), `${name}-template`);
  const lock = `${template}.lock`;
  while (!existsSync(template)) {
    if (!tryToLock(lock)) {
      await sleep(50);
      continue;
    }
    try {
      if (!existsSync(template)) await makeWhole(template, make);
    } finally {
      rmSync(lock);
    }
  }
  return template;
}

/** A reader sees the directory when it is complete. */
async function makeWhole(template: string, make: (directory: string) => Promise<void>): Promise<void> {
  const unfinished = `${template}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  await make(unfinished);
  renameSync(unfinished, template);
}

/** Locks, unless another process has: then it returns false. The lock of a process that has ended is removed. */
function tryToLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = readHolder(lock);
    if (holder !== null && !existsSync(`/proc/${holder}`)) rmSync(lock, { force: true });
    return false;
  }
}

/** The process that has locked; null when there is none any more, or it has not written its ID yet. */
function readHolder(lock: string): string | null {
  try {
    return readFileSync(lock, 'utf8') || null;
  } catch {
    return null;
  }
}
