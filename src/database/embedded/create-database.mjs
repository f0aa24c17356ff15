// @ts-check
// Creates the files of a database in an empty directory: `create-database.mjs DIRECTORY`. Creating takes 700 MB, which WebAssembly
// keeps for as long as its process lives, so this is a process of its own. The file is plain JavaScript because Node.js loads it
// itself: from src/ in tests and from dist/ in production.
import { rmSync } from 'node:fs';

// A terminal and systemd send signals to all processes of the service, which ends when the database is complete.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

const { PGlite } = await import('@electric-sql/pglite');
const [, , directory = ''] = process.argv;
const database = await PGlite.create({ dataDir: directory });
await database.close();
// The service was killed meanwhile.
if (!process.connected) rmSync(directory, { recursive: true, force: true });
process.exit();
