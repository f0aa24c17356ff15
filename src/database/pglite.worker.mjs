// @ts-check
// Runs PostgreSQL compiled to WebAssembly in a thread of its own, so that a long statement never holds the
// event loop that answers requests, and serves it on a Unix socket to the ordinary driver. Plain JavaScript,
// because a worker is loaded by Node itself: from src/ in tests and from dist/ in the product.
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

/** @type {{ directory: string, socket: string }} */
const { directory, socket } = workerData;

const database = await PGlite.create({ dataDir: directory, extensions: { pg_trgm } });
// PGlite has one backend, and a second client would run inside the first one's transaction: the pool has one
// connection. The second place here is for its successor, which comes before the socket of a broken one is gone.
const server = new PGLiteSocketServer({ db: database, path: socket, maxConnections: 2 });
await server.start();

parentPort?.on('message', async () => {
  await server.stop();
  await database.close();
  parentPort?.postMessage('stopped');
  parentPort?.close();
});
parentPort?.postMessage('started');
