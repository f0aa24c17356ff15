// @ts-check
// Runs PostgreSQL compiled to WebAssembly in a thread of its own, so that a long statement never blocks the
// event loop that serves requests. Serves it on a Unix socket to the ordinary driver. The file is plain
// JavaScript because Node.js loads workers itself: from src/ in tests and from dist/ in production.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

/** @type {{ directory: string, socket: string, holder: { file: string, text: string } }} */
const { directory, socket, holder } = workerData;

// PostgreSQL's default of 128 MB is for a machine of its own. Other pages are in the page cache of the system.
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];
const database = await PGlite.create({ dataDir: directory, extensions: { pg_trgm }, startParams });
// PGlite has one backend, and a second client would run inside the transaction of the first, so the pool has
// one connection. The second slot serves its successor, which may connect before the socket of a broken
// connection is closed.
const server = new PGLiteSocketServer({ db: guarded(database), path: socket, maxConnections: 2 });
await server.start();

parentPort?.on('message', async () => {
  await server.stop();
  await database.close();
  parentPort?.postMessage('stopped');
  parentPort?.close();
});
parentPort?.postMessage('started');

/**
 * Rejects statements once another process holds the directory. A process that was stopped for a while detects
 * this here, before it writes, and does not depend on a timer.
 * @param {PGlite} own
 * @returns {PGlite}
 */
function guarded(own) {
  return new Proxy(own, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target);
      if (name !== 'execProtocolRawStream') return bound;
      return (/** @type {unknown[]} */ ...args) => {
        if (!isHeld()) {
          parentPort?.postMessage('lost');
          throw new Error('Another process has the database directory');
        }
        return bound(...args);
      };
    },
  });
}

function isHeld() {
  try {
    return readFileSync(holder.file, 'utf8') === holder.text;
  } catch {
    return false;
  }
}
