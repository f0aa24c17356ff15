import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseStartError } from '../connections/database-start.error.js';

/** Milliseconds after which the creation counts as failed. */
const TIMEOUT_MS = 60_000;
/** Beginning of the name of a directory in which a database is created. */
const NEW = '.service.new-';

/** Whether a file is of the service, and not of the database. */
function isOfService(name: string): boolean {
  return name.startsWith('.service.');
}

/** Path of a marker file next to a directory. It exists until the creation of the database is complete. */
function unfinishedMark(directory: string): string {
  return `${directory}.unfinished`;
}

/** Whether the directory has a database whose creation is complete. */
export function isCreated(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION')) && !existsSync(unfinishedMark(directory));
}

/** A process that was killed while it created a database leaves unusable files. */
export function removeUnfinished(directory: string): void {
  const mark = unfinishedMark(directory);
  if (existsSync(mark)) {
    for (const name of listDirectory(directory)) rmSync(join(directory, name), { recursive: true });
  } else if (listDirectory(directory).length === 0) {
    writeFileSync(mark, '');
  }
}

/** The names of the files of the database. @throws DatabaseStartError */
export function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !isOfService(name));
  } catch (error) {
    throw new DatabaseStartError(`The database directory ${directory} cannot be read`, { cause: error });
  }
}

/**
 * Creates the database in an empty directory. Another process writes into a directory of its own, so that one whose service was
 * killed does not write into the database of the next service.
 */
export async function createDatabase(directory: string): Promise<void> {
  const next = join(directory, `${NEW}${process.pid}`);
  removeNew(directory);
  mkdirSync(next);
  const child = fork(fileURLToPath(new URL('./create-database.mjs', import.meta.url)), [next], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    signal: AbortSignal.timeout(TIMEOUT_MS),
    killSignal: 'SIGKILL',
  });
  let reported = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (reported += text));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`The database was not created: ${reported}`);
    for (const name of readdirSync(next)) renameSync(join(next, name), join(directory, name));
    rmSync(unfinishedMark(directory), { force: true });
  } finally {
    removeNew(directory);
  }
}

/** What ended or killed processes left. One that still runs removes its own. */
function removeNew(directory: string): void {
  for (const name of readdirSync(directory))
    if (name.startsWith(NEW)) rmSync(join(directory, name), { recursive: true, force: true, maxRetries: 2 });
}
