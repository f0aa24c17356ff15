import 'reflect-metadata';
import { run } from './run.js';
import { runEntry } from './start/entry.js';

await runEntry(run);
