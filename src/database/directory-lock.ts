import { closeSync, mkdirSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseStartError } from './database-start.error.js';

const ATTEMPTS = 20;
/** Milliseconds. */
const PAUSE = 20;

/**
 * Takes the lock of a database directory: a file with the process that holds it. PGlite itself lets two
 * processes open one directory, and acknowledged rows are lost.
 * @returns a function that gives the lock back
 * @throws DatabaseStartError when a living process holds it
 */
export function lockDirectory(directory: string): () => void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new DatabaseStartError(`The database directory ${directory} cannot be made`, { cause: error });
  }
  const file = `${directory}.lock`;
  const me = describeProcess(process.pid) ?? `${process.pid}`;
  let isTaken = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    isTaken = createExclusively(file, me) || isTaken;
    if (isTaken && (attempt === 0 || isConfirmed(file, me)))
      return () => {
        removeQuietly(file);
      };
    const holder = readQuietly(file);
    if (holder !== null && isAlive(holder)) {
      throw new DatabaseStartError(
        `The database directory ${directory} is in use by process ${holder.split(' ')[0] ?? '?'}: ` +
          'stop it first, or use PostgreSQL (DATABASE_URL=postgres://…) for several processes at once',
      );
    }
    // Nothing stands there yet: somebody may be about to write it.
    if (holder === '' && attempt < ATTEMPTS / 2) pause();
    else if (holder !== null) removeStale(file, holder);
  }
  throw new DatabaseStartError(`The lock ${file} cannot be taken: other processes keep taking it`);
}

/** A crash leaves the lock behind, and its process number may be somebody else's by now: the start time tells. */
function isAlive(holder: string): boolean {
  const [pid = ''] = holder.split(' ');
  const number = Number(pid);
  if (!Number.isInteger(number) || number <= 0) return false;
  try {
    process.kill(number, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return describeProcess(number) === null || describeProcess(number) === holder;
}

/** Process number and, on Linux, the time at which it started, in clock ticks since boot (proc(5), field 22). */
function describeProcess(pid: number): string | null {
  try {
    const stat = readFileSync(join('/proc', String(pid), 'stat'), 'utf8');
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${pid} ${startTime ?? ''} ${boot}`;
  } catch {
    return null;
  }
}

function createExclusively(file: string, contents: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new DatabaseStartError(`The lock ${file} cannot be written`, { cause: error });
  }
  writeSync(descriptor, contents);
  closeSync(descriptor);
  return true;
}

/**
 * Removes what a crash has left behind. Others may do the same at this moment: one of them moves it away, and whoever
 * comes too late has moved the lock of the one that came first, and puts it back.
 */
function removeStale(file: string, holder: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // Somebody else was first: the caller tries again.
  }
  const found = readQuietly(aside);
  if (found !== null && found !== holder) createExclusively(file, found);
  removeQuietly(aside);
}

/** Where a lock was taken over, others may have moved it away for a moment. */
function isConfirmed(file: string, me: string): boolean {
  pause();
  return readQuietly(file) === me;
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
}

function readQuietly(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null; // Given back between the two looks: the caller tries again.
  }
}

function removeQuietly(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Gone already, which is what was wanted.
  }
}
