import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Files in a database directory that do not belong to the database. */
export const LOCK_FILE = '.service.lock';
export const HOLDER_FILE = '.service.holder';

export interface Holder {
  /** Random, because process numbers repeat over time and between containers. */
  readonly id: string;
  readonly machine: string;
  readonly pid: number;
  readonly host: string;
}

/** Identifies the running kernel, which containers share. On systems other than Linux it is the host name. */
export const MACHINE = readMachine();

function readMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

export function formatHolder({ id, machine, pid, host }: Holder): string {
  return `${id} ${machine} ${pid} ${host}\n`;
}

/** Returns null if the file is missing or unreadable. */
export function readHolder(directory: string): Holder | null {
  try {
    const [id = '', machine = '', pid = '', host = ''] = readFileSync(join(directory, HOLDER_FILE), 'utf8')
      .trim()
      .split(' ');
    return host === '' ? null : { id, machine, pid: Number(pid), host };
  } catch {
    return null;
  }
}

/** Replaces the file atomically: a reader sees either the previous holder or this one. */
export function writeHolder(directory: string, holder: Holder): void {
  const file = join(directory, HOLDER_FILE);
  const fresh = `${file}.${randomUUID().slice(0, 8)}`;
  writeFileSync(fresh, formatHolder(holder), { mode: 0o600 });
  renameSync(fresh, file);
}
