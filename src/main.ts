import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { loadEnvironmentFile } from './config/environment-file.js';
import { endOnFaults, explainFailure } from './start/failure.js';
import { readUsableConfig } from './start/preconditions.js';

// The old generation of the heap grows by at most 45 percent between collections. By default V8 lets it grow up to four
// times, and a process under load then holds 150 MB without need. The cost of a request did not change measurably.
setFlagsFromString('--heap-growing-percent=45');
endOnFaults();
try {
  loadEnvironmentFile();
  const config = readUsableConfig();
  // The rest takes a second to load: a mistake in the settings is reported before.
  const { serve } = await import('./serve.js');
  await serve(config);
} catch (error) {
  // What has been opened by then would keep the process alive; the embedded database survives worse.
  process.exit(explainFailure(error));
}
