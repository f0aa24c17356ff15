import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config/config.js';
import { loadEnvironmentFile } from '../config/environment-file.js';
import { endOnFaults, explainFailure } from './failure.js';
import { readUsableConfig } from './preconditions.js';

/** Runs the main function of a process. A failure ends the process with its reason and exit code. */
export async function runEntry(work: (config: Config) => Promise<void>): Promise<void> {
  // The old generation of the heap grows by at most 45 percent between collections. By default V8 lets it grow up to four
  // times, and a process under load then holds 150 MB without need. The cost of a request did not change measurably.
  setFlagsFromString('--heap-growing-percent=45');
  endOnFaults();
  try {
    loadEnvironmentFile();
    await work(readUsableConfig());
  } catch (error) {
    // Open handles would keep the process alive. This exit is safe: the embedded database recovers from a crash.
    process.exit(explainFailure(error));
  }
}
