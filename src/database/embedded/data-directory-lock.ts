import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync, utimesSync } from 'node:fs';
import type { Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseInUseError, DatabaseStartError } from '../connections/database-start.error.js';
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

/** Milliseconds between two heartbeats of the holder. */
const SIGN_INTERVAL = 5000;
/** Milliseconds without a heartbeat after which a process on another machine counts as ended. */
const STALE = 15_000;
/** Milliseconds between two checks for a heartbeat. */
const LOOK_INTERVAL = 250;
/** Milliseconds until a lock that replaced a stale one is verified: another process may have taken it too. */
const CONFIRMATION = 200;
const ATTEMPTS = 20;

interface DirectoryLockEvents {
  readonly onWait: (text: string) => void;
  /** Called when another process holds the directory: this process must stop writing to it. */
  readonly onLost: () => void;
}

/**
 * The lock of a database directory: a Unix socket on which the holder listens (docs/adr/0035). The kernel
 * accepts connections only while the process runs, even a stopped one. It cannot answer for another machine or
 * before a reboot: there the heartbeats of the holder decide, on a monotonic clock.
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

  /** @throws DatabaseStartError when a running process holds the lock */
  static async take(directory: string, events: DirectoryLockEvents): Promise<DirectoryLock> {
    makeDirectory(directory);
    refuseOldLock(directory);
    const lock = join(directory, LOCK_FILE);
    const own = `${lock}.${randomUUID().slice(0, 8)}`;
    const server = await listenAt(directory, own);
    const inode = inodeOf(own) ?? 0n;
    try {
      // If no lock was left behind, no process moves one away.
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

  /** Whether the directory still belongs to this process. Cheap enough to check before each statement. */
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
      // The disk is full or unavailable. The next heartbeat may succeed.
    }
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new DatabaseStartError(`The database directory ${directory} cannot be created`, { cause: error });
  }
}

/** Earlier releases wrote their process number to a file next to the directory. */
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

/** Returns if the holder has ended. Throws DatabaseStartError if it is running. */
async function refuseLiving(directory: string, lock: string, events: DirectoryLockEvents): Promise<void> {
  const isSocket = lstatSync(lock, { throwIfNoEntry: false })?.isSocket();
  if (isSocket === undefined) return;
  if (await answers(directory, lock)) {
    // The holder may be writing its number at this moment.
    await sleep(CONFIRMATION);
    throw inUse(directory, describe(readHolder(directory)));
  }
  const holder = readHolder(directory);
  const whose = describe(holder);
  // The kernel of this machine refused the connection, so the process that listened has ended.
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

/** Whether the holder file changes within the time. Only the monotonic clock of this process matters. */
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

/** Moves a stale lock away. If another process took the lock at this moment, puts it back. */
async function moveAway(directory: string, lock: string): Promise<void> {
  const aside = `${lock}.${randomUUID().slice(0, 8)}`;
  try {
    renameSync(lock, aside);
  } catch {
    return; // Released, or moved away by another process: the caller tries again.
  }
  if (await answers(directory, aside)) linkQuietly(aside, lock);
  removeQuietly(aside);
}

function inUse(directory: string, whose: string): DatabaseInUseError {
  return new DatabaseInUseError(
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
    // The file no longer exists.
  }
}
