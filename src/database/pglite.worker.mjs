// @ts-check
// Runs PostgreSQL compiled to WebAssembly in a thread of its own, so that a long statement never holds the
// event loop that answers requests, and serves it on a Unix socket to the ordinary driver. Plain JavaScript,
// because a worker is loaded by Node itself: from src/ in tests and from dist/ in the product.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

/** @type {{ directory: string | undefined, socket: string, snapshot: string | undefined }} */
const { directory, socket, snapshot } = workerData;

const loadDataDir = snapshot === undefined ? undefined : new Blob([readFileSync(snapshot)]);
const database = await PGlite.create({ dataDir: directory, loadDataDir, extensions: { pg_trgm } });
// PGlite has one backend, and a second client would run inside the first one's transaction: the pool has one
// connection. The second place here is for its successor, which comes before the socket of a broken one is gone.
const server = new PGLiteSocketServer({ db: database, path: socket, maxConnections: 2 });
await server.start();

parentPort?.on('message', async (message) => {
  if (message.kind === 'snapshot') {
    const dump = await database.dumpDataDir('gzip');
    parentPort?.postMessage({ kind: 'snapshot', bytes: new Uint8Array(await dump.arrayBuffer()) });
    return;
  }
  await server.stop();
  await database.close();
  parentPort?.postMessage({ kind: 'stopped' });
  parentPort?.close();
});
parentPort?.postMessage({ kind: 'started' });
