import 'reflect-metadata';
import { runChild } from './start/entry.js';

// One of several processes that serve requests. Another process supervises them.
await runChild(async (config) => {
  const { serveWorker } = await import('./serve-worker.js');
  await serveWorker(config);
});
