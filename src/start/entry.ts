import { setFlagsFromString } from 'node:v8';
import { readInput } from '../common/child-input.js';
import type { Config } from '../config/config.js';
import { readConfigCopy } from '../config/config-copy.js';
import { loadEnvironmentFile } from '../config/environment-file.js';
import { endOnFaults, explain } from './failure.js';
import { readUsableConfig } from './preconditions.js';

type Work = (config: Config) => Promise<void>;

/** Runs the main function of the first process. A failure ends the process with its reason and exit code. */
export function runEntry(work: Work): Promise<void> {
  process.once('SIGINT', () => process.once('exit', endBySignal));
  return runWith(() => {
    loadEnvironmentFile();
    return readUsableConfig();
  }, work);
}

/** A shell and npm take the process for interrupted only if the signal itself ends it. They see 130, and npm reports no error. */
function endBySignal(): void {
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

/**
 * Runs the main function of a process that another one starts. It has the environment and the configuration of that one, also
 * if files that the settings name have changed since.
 */
export function runChild(work: Work): Promise<void> {
  return runWith(() => readConfigCopy(readInput()), work);
}

async function runWith(read: () => Config, work: Work): Promise<void> {
  // The old generation of the heap grows by at most 45 percent between collections. By default V8 lets it grow up to four
  // times, and a process under load then holds 150 MB without need. The cost of a request did not change measurably.
  setFlagsFromString('--heap-growing-percent=45');
  endOnFaults();
  try {
    await work(read());
  } catch (error) {
    // Open handles would keep the process alive. This exit is safe: the database continues without this process.
    process.exit(explain(error));
  }
}
