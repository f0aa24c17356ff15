// Counts what runs of dist/ in a worker or a process of the service, if COVERAGE_DIRECTORY is set: npm run coverage.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const { COVERAGE_DIRECTORY: directory } = process.env;
const DIST = new URL('../../dist/', import.meta.url).href;
const session = directory === undefined ? null : new Session();

if (session !== null) {
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  process.on('exit', writeCoverage);
}

/** Writes what has run since the last call. */
export function writeCoverage() {
  session?.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    const own = result.filter(({ url }) => url.startsWith(DIST));
    writeFileSync(join(directory, `${randomUUID()}.json`), JSON.stringify({ result: own }));
  });
}
