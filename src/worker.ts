import 'reflect-metadata';
import { runEntry } from './start/entry.js';

// One of several processes that serve requests. Another process supervises them.
await runEntry(async (config) => {
  const { serveWorker } = await import('./serve-worker.js');
  await serveWorker(config);
});
