import 'reflect-metadata';
import { loadEnvironmentFile } from './config/environment-file.js';
import { endOnFaults, explainFailure } from './start/failure.js';
import { keepHeapSmall } from './start/memory.js';
import { readUsableConfig } from './start/preconditions.js';

endOnFaults();
keepHeapSmall();
try {
  loadEnvironmentFile();
  const config = readUsableConfig();
  // The rest takes a second to load: a mistake in the settings is told before.
  const { serve } = await import('./serve.js');
  await serve(config);
} catch (error) {
  // What has been opened by then would keep the process alive; the embedded database survives worse.
  process.exit(explainFailure(error));
}
