import 'reflect-metadata';
import { readConfig } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { serve } from './serve.js';
import { explainFailure } from './start-failure.js';

try {
  loadEnvironmentFile();
  await serve(readConfig());
} catch (error) {
  // What has been opened by then would keep the process alive; the embedded database survives worse.
  process.exit(explainFailure(error));
}
