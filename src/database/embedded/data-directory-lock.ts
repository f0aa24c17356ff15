import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync, utimesSync } from 'node:fs';
import type { Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseStartError } from '../connections/database-start.error.js';
import { answers, listenAt } from './lock-socket.js';
import {
  formatHolder,
  type Holder,
  HOLDER_FILE,
  LOCK_FILE,
  MACHINE,
  readHolder,
  writeHolder,
} from './lock-holder.js';

/** Milliseconds between two signs of life. */
const SIGN_INTERVAL = 5000;
/** Milliseconds without a sign of life after which a process on another machine is taken to be gone. */
export const STALE = 15_000;
/** Milliseconds between two looks for a sign of life. */
const LOOK_INTERVAL = 250;
/** Milliseconds after which a lock is looked at again where one was left behind: another process may have taken it too. */
const CONFIRMATION = 200;
const ATTEMPTS = 20;

export interface DirectoryLockEvents {
  /** The start waits, and for what. */
  readonly onWait: (text: string) => void;
  /** Another process has the directory: this one must not write to it any more. */
  readonly onLost: () => void;
}

/**
 * The lock of a database directory: a Unix socket in it that its holder listens on. The kernel answers for a process that
 * lives, also for one that is stopped, and whatever the process numbers or the clock of the one that asks are; it refuses at
 * once when the process is gone. Only of another machine, or one that was started again, it knows nothing: there the signs of
 * life of the holder decide, counted on a monotonic clock (docs/adr/0034).
 */
export class DirectoryLock {
  private readonly signs: NodeJS.Timeout;

  private constructor(
    private readonly directory: string,
    private readonly server: Server | null,
    private readonly inode: bigint,
    readonly holder: Holder,
    private readonly events: DirectoryLockEvents,
  ) {
    this.signs = setInterval(() => {
      this.giveSign();
    }, SIGN_INTERVAL).unref();
  }

  /** @throws DatabaseStartError when a living process holds it */
  static async take(directory: string, events: DirectoryLockEvents): Promise<DirectoryLock> {
    makeDirectory(directory);
    refuseOldLock(directory);
    const lock = join(directory, LOCK_FILE);
    const own = `${lock}.${randomUUID().slice(0, 8)}`;
    const server = await listenAt(directory, own);
    const inode = inodeOf(own) ?? 0n;
    try {
      // Where nothing was left behind, nobody moves anything away either.
      const isClean = inodeOf(lock) === null && readHolder(directory) === null;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (linkQuietly(own, lock)) {
          const holder = { id: randomUUID(), machine: MACHINE, pid: process.pid, host: hostname() };
          writeHolder(directory, holder);
          const taken = new DirectoryLock(directory, server, inode, holder, events);
          if (!isClean) await sleep(CONFIRMATION);
          if (taken.isHeld()) return taken;
          clearInterval(taken.signs);
        } else {
          const seen = inodeOf(lock);
          await refuseLiving(directory, lock, events);
          if (seen !== null && inodeOf(lock) === seen) await moveAway(directory, lock);
        }
      }
      throw new DatabaseStartError(`The lock ${lock} cannot be taken: other processes keep taking it`);
    } catch (error) {
      server?.close();
      throw error;
    } finally {
      removeQuietly(own);
    }
  }

  /** Whether the directory still belongs to this process: cheap enough to be asked before each statement. */
  isHeld(): boolean {
    return readText(join(this.directory, HOLDER_FILE)) === formatHolder(this.holder);
  }

  release(): void {
    clearInterval(this.signs);
    const lock = join(this.directory, LOCK_FILE);
    if (this.isHeld()) removeQuietly(join(this.directory, HOLDER_FILE));
    if (inodeOf(lock) === this.inode) removeQuietly(lock);
    this.server?.close();
  }

  private giveSign(): void {
    if (!this.isHeld()) {
      clearInterval(this.signs);
      this.events.onLost();
      return;
    }
    const now = new Date();
    try {
      utimesSync(join(this.directory, HOLDER_FILE), now, now);
    } catch {
      // A disk that is full or away: the next sign may be given.
    }
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new DatabaseStartError(`The database directory ${directory} cannot be made`, { cause: error });
  }
}

/** Releases before this one wrote their process number to a file beside the directory. */
function refuseOldLock(directory: string): void {
  const file = `${directory}.lock`;
  const pid = Number(readText(file)?.split(' ')[0] ?? 0);
  if (Number.isInteger(pid) && pid > 0 && isRunning(pid)) throw inUse(directory, `process ${pid}`);
  removeQuietly(file);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** @throws DatabaseStartError when the holder lives; returns when it is gone */
async function refuseLiving(directory: string, lock: string, events: DirectoryLockEvents): Promise<void> {
  const isSocket = lstatSync(lock, { throwIfNoEntry: false })?.isSocket();
  if (isSocket === undefined) return;
  if (await answers(directory, lock)) {
    // It may be writing its number at this moment.
    await sleep(CONFIRMATION);
    throw inUse(directory, describe(readHolder(directory)));
  }
  const holder = readHolder(directory);
  const whose = describe(holder);
  // The kernel of this machine has refused, so the process that listened here is gone.
  if (isSocket && holder?.machine === MACHINE) return;
  events.onWait(
    `The database directory ${directory} was in use by ${whose}, on another machine or before this one was started again: ` +
      `waiting ${STALE / 1000} seconds for a sign of life`,
  );
  if (await givesSign(directory)) throw inUse(directory, whose);
}

function describe(holder: Holder | null): string {
  if (holder === null) return 'another process';
  return `process ${holder.pid}${holder.host === hostname() ? '' : ` on ${holder.host}`}`;
}

/** On the monotonic clock of this process: when the file was changed last, by any clock, only has to stay the same. */
async function givesSign(directory: string): Promise<boolean> {
  const file = join(directory, HOLDER_FILE);
  const look = () =>
    `${readText(file) ?? ''} ${lstatSync(file, { throwIfNoEntry: false })?.mtimeMs.toString() ?? ''}`;
  const seen = look();
  for (let waited = 0; waited < STALE; waited += LOOK_INTERVAL) {
    await sleep(LOOK_INTERVAL);
    if (look() !== seen) return true;
  }
  return false;
}

/** Moves a lock away that nobody holds. Another process may have taken it at this moment: then it is put back. */
async function moveAway(directory: string, lock: string): Promise<void> {
  const aside = `${lock}.${randomUUID().slice(0, 8)}`;
  try {
    renameSync(lock, aside);
  } catch {
    return; // Given back, or moved away by another process: the caller tries again.
  }
  if (await answers(directory, aside)) linkQuietly(aside, lock);
  removeQuietly(aside);
}

function inUse(directory: string, whose: string): DatabaseStartError {
  return new DatabaseStartError(
    `The database directory ${directory} is in use by ${whose}: ` +
      'stop it first, or use PostgreSQL (DATABASE_URL=postgres://…) for several processes at once',
  );
}

function linkQuietly(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new DatabaseStartError(`The lock ${to} cannot be written`, { cause: error });
  }
}

function inodeOf(file: string): bigint | null {
  return lstatSync(file, { throwIfNoEntry: false, bigint: true })?.ino ?? null;
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function removeQuietly(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // It is gone already.
  }
}
