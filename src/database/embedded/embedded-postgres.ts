import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Logger } from '@nestjs/common';
import { DatabaseStartError } from '../connections/database-start.error.js';
import { DirectoryLock } from './data-directory-lock.js';
import { createDatabase, isCreated, listDirectory, removeUnfinished } from './database-creation.js';
import { formatHolder, HOLDER_FILE } from './lock-holder.js';

/** PostgreSQL's major version in PGlite, which cannot open a directory of another version. */
const MAJOR_VERSION = '18';

/** Milliseconds after which a start counts as failed: a damaged database may wait forever. */
const START_TIMEOUT = 60_000;
/** Milliseconds that a database may take to write its buffers and close. */
const STOP_TIMEOUT = 30_000;

/** PGlite in a worker thread, reached through a Unix socket that only this user can open. */
export class EmbeddedPostgres {
  private constructor(
    private readonly worker: Worker,
    private readonly lock: DirectoryLock,
    /** Directory of the socket, as the driver expects it in `host`. */
    readonly host: string,
  ) {}

  /** Throws DatabaseStartError if the directory is in use or is no database of this version. */
  static async start(directory: string): Promise<EmbeddedPostgres> {
    const logger = new Logger('Database');
    const lock = await DirectoryLock.take(directory, {
      onWait: (text) => {
        logger.warn(text);
      },
      onLost: endAtOnce,
    });
    const host = mkdtempSync(join(tmpdir(), 'directory-'));
    let worker: Worker | null = null;
    try {
      removeUnfinished(directory);
      refuseForeignDirectory(directory);
      if (!isCreated(directory)) await createDatabase(directory);
      worker = new Worker(new URL('./pglite.worker.mjs', import.meta.url), {
        workerData: {
          directory,
          socket: join(host, '.s.PGSQL.5432'),
          holder: { file: join(directory, HOLDER_FILE), text: formatHolder(lock.holder) },
        },
      });
      worker.on('message', (message: string) => {
        if (message === 'lost') endAtOnce();
      });
      await nextMessage(worker, 'started', START_TIMEOUT);
      return new EmbeddedPostgres(worker, lock, host);
    } catch (error) {
      await worker?.terminate();
      lock.release();
      rmSync(host, { recursive: true, force: true });
      throw error instanceof DatabaseStartError ? error : damagedDirectoryError(directory, error);
    }
  }

  async stop(): Promise<void> {
    try {
      this.worker.postMessage('stop');
      await nextMessage(this.worker, 'stopped', STOP_TIMEOUT);
    } finally {
      await this.worker.terminate();
      rmSync(this.host, { recursive: true, force: true });
      this.lock.release();
    }
  }
}

export function damagedDirectoryError(directory: string, cause: unknown): DatabaseStartError {
  return new DatabaseStartError(
    `The database directory ${directory} cannot be opened: it may be damaged. It is only a copy of the ` +
      'directory (and the service accounts): move it away, and the service creates a new one',
    { cause },
  );
}

/** Ends the process without closing the database, which would overwrite rows of the new holder. */
function endAtOnce(): never {
  writeSync(2, 'Another process has taken over the database directory: this one ends at once\n');
  process.exit(1);
}

function refuseForeignDirectory(directory: string): void {
  if (listDirectory(directory).length === 0) return;
  const file = join(directory, 'PG_VERSION');
  if (!existsSync(file)) {
    throw new DatabaseStartError(
      `The directory ${directory} does not contain a database: name an empty directory in DATABASE_URL`,
    );
  }
  const version = readFileSync(file, 'utf8').trim();
  if (version !== MAJOR_VERSION) {
    throw new DatabaseStartError(
      `The database directory ${directory} is of PostgreSQL ${version}, and this is ${MAJOR_VERSION}: move it ` +
        'away, and the service creates a new one from the directory',
    );
  }
}

async function nextMessage(worker: Worker, kind: 'started' | 'stopped', milliseconds: number): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([
      messageOf(worker, kind, signal),
      once(worker, 'exit', { signal }).then(() => {
        throw new Error('The database worker ended');
      }),
      sleep(milliseconds, undefined, { signal }).then(() => {
        throw new Error(`The database did not answer within ${milliseconds} ms`);
      }),
    ]);
  } finally {
    settled.abort();
  }
}

/** Resolves with a message of this kind, and rejects with an error of the worker. */
async function messageOf(worker: Worker, kind: string, signal: AbortSignal): Promise<void> {
  for await (const [message] of on(worker, 'message', { signal })) if (message === kind) return;
}
