import 'reflect-metadata';
import { runEntry } from './start/entry.js';

// The process that follows the directory. The process that serves requests, or supervises those that do, starts it.
await runEntry(async (config) => {
  const { follow } = await import('./follow.js');
  await follow(config);
});
