// The entry of the bundle in dist/reference-generator/, which needs no package. The build calls its functions, and a service with a
// model file starts it as a thread.
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { DescribedSchema } from '../../src/reference/described-schema.js';
import { renderReference } from './render.js';
import { readSources, type Sources } from './sources.js';

export { readSources, renderReference };

if (parentPort !== null) {
  const sources = JSON.parse(readFileSync(new URL('sources.json', import.meta.url), 'utf8')) as Sources;
  parentPort.postMessage(await renderReference(workerData as DescribedSchema, sources));
}
