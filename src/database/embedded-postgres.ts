import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DatabaseStartError } from './database-start.error.js';
import { lockDirectory } from './directory-lock.js';

/** PostgreSQL's major version inside PGlite: a directory of another one cannot be opened. */
const MAJOR_VERSION = '18';

export interface EmbeddedPostgresOptions {
  /** Where rows are kept. */
  readonly directory: string;
  /** A database to begin with (a compressed tar of a data directory), for a directory that is still empty. */
  readonly snapshot?: string;
}

/** PGlite in a worker thread, reached through a Unix socket that only this user can open. */
export class EmbeddedPostgres {
  private constructor(
    private readonly worker: Worker,
    private readonly unlock: () => void,
    /** Directory of the socket, as the driver's `host` wants it. */
    readonly host: string,
  ) {}

  /** @throws DatabaseStartError when the directory is in use, or is no database of this version */
  static async start({ directory, snapshot }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const unlock = lockDirectory(directory);
    const host = mkdtempSync(join(tmpdir(), 'directory-'));
    try {
      refuseForeignDirectory(directory);
      const worker = new Worker(new URL('./pglite.worker.mjs', import.meta.url), {
        workerData: { directory, snapshot, socket: join(host, '.s.PGSQL.5432') },
      });
      await nextMessage(worker, 'started');
      return new EmbeddedPostgres(worker, unlock, host);
    } catch (error) {
      unlock();
      rmSync(host, { recursive: true, force: true });
      if (error instanceof DatabaseStartError) throw error;
      throw new DatabaseStartError(
        `The database directory ${directory} cannot be opened: it may be damaged. It is only a copy of the ` +
          'directory (and the service accounts): move it away, and it is made anew',
        { cause: error },
      );
    }
  }

  /** The whole database as a compressed tar of its directory. */
  async dump(): Promise<Uint8Array> {
    this.worker.postMessage({ kind: 'snapshot' });
    const message = await nextMessage(this.worker, 'snapshot');
    return message.bytes ?? new Uint8Array();
  }

  async stop(): Promise<void> {
    this.worker.postMessage({ kind: 'stop' });
    await nextMessage(this.worker, 'stopped');
    await this.worker.terminate();
    rmSync(this.host, { recursive: true, force: true });
    this.unlock();
  }
}

function refuseForeignDirectory(directory: string): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    throw new DatabaseStartError(`The database directory ${directory} cannot be read`, { cause: error });
  }
  if (names.length === 0) return;
  const file = join(directory, 'PG_VERSION');
  if (!existsSync(file)) {
    throw new DatabaseStartError(
      `The directory ${directory} holds something else than a database: name an empty one in DATABASE_URL`,
    );
  }
  const version = readFileSync(file, 'utf8').trim();
  if (version !== MAJOR_VERSION) {
    throw new DatabaseStartError(
      `The database directory ${directory} is of PostgreSQL ${version}, and this is ${MAJOR_VERSION}: ` +
        'move it away, and it is made anew from the directory',
    );
  }
}

interface WorkerMessage {
  kind: string;
  bytes?: Uint8Array;
}

function nextMessage(worker: Worker, kind: string): Promise<WorkerMessage> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
    };
    const onMessage = (message: WorkerMessage) => {
      if (message.kind !== kind) return;
      settle();
      resolve(message);
    };
    const onError = (error: unknown) => {
      settle();
      reject(error instanceof Error ? error : new Error('The database worker failed'));
    };
    const onExit = () => {
      onError(new Error('The database worker ended'));
    };
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
  });
}
