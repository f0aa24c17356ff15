import 'reflect-metadata';
import { runChild } from './start/entry.js';

// The process that follows the directory. The process that serves requests, or supervises those that do, starts it.
await runChild(async (config) => {
  const { follow } = await import('./follow.js');
  await follow(config);
});
