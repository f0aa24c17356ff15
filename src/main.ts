import 'reflect-metadata';
import { readConfig } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { serve } from './serve.js';
import { explainFailure } from './start-failure.js';

try {
  loadEnvironmentFile();
  await serve(readConfig());
} catch (error) {
  process.exitCode = explainFailure(error);
}
