// The service while its directory changes and is compared, with its defaults: all goals that a mirror at rest cannot show.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase, withDirectory } from '../live/directory.mjs';
import { measureLargeGroups } from '../live/large-groups.mjs';
import { memoryOf } from '../measure/processor-time.mjs';
import { median } from '../measure/statistics.mjs';
import { records } from '../large-directory.mjs';
import { withResources } from '../resources.mjs';
import { COMPARISON_SECONDS, measureComparison } from './comparison.mjs';
import { measureChanges } from './changes.mjs';
import { measureChangedFile, writeLdif } from './changed-file.mjs';
import { measureFreshness } from './freshness.mjs';
import { connect, FollowingService, Load, startIssuer } from './place.mjs';
import { measureWorkers } from './workers.mjs';

const FULL = { people: 100_000, groups: 5_000, memberships: 600_000 };
const QUICK = { people: 10_000, groups: 500, memberships: 60_000 };
/** The follower and the workers write to the log in any order. */
const READY_AND_FOLLOWING = /Ready at[^]*pushes changes|pushes changes[^]*Ready at/;
const READY_WITH_FILE = /Ready at[^]*Revision \d+ in|Revision \d+ in[^]*Ready at/;
const GROUPS = 40;
/** Node.js gives back the memory of the start only some time after it. */
const REST_MS = 60_000;
const INDEXING_MS = 30_000;

const people = Array.from({ length: 1_000 }, (_, number) => `person.${number}`);
const groups = Array.from({ length: GROUPS }, (_, number) => `group-${number}`);

/** @returns the results of each part, in milliseconds and megabytes */
export async function measureUnderLoad({ quick }, runStep) {
  const size = quick ? QUICK : FULL;
  const pushed = await withDirectory(records(size), (place) =>
    withResources((resources) => measurePushed({ ...place, size, resources, runStep })),
  );
  const file = await withDatabase((place) =>
    withResources((resources) => measureFile({ ...place, size, resources, runStep })),
  );
  const embedded = await withResources((resources) =>
    runStep('the default with its embedded database', () => measureEmbedded(resources)),
  );
  const bulk = await runStep('many changes and large groups', () => measureLargeGroups(size.people));
  return { ...pushed, file, embedded, bulk };
}

/** The memory of `npm start`, whose directory is that of the sample. */
async function measureEmbedded(resources) {
  const directory = mkdtempSync(join(tmpdir(), 'directory-embedded-'));
  resources.defer(() => rmSync(directory, { recursive: true, force: true }));
  const environment = { NODE_ENV: 'development', DATABASE_URL: `embedded:${directory}` };
  const service = await FollowingService.start(environment, /Ready at/, resources);
  await sleep(REST_MS);
  return memoryOf(service.pid);
}

async function measurePushed({ environment, client, size, resources, runStep }) {
  const issuer = await startIssuer(resources, people);
  const settings = { ...environment, ...issuer.environment };
  const start = (more, ready = /Ready at/) =>
    FollowingService.start({ ...settings, ...more }, ready, resources);
  const all = await runStep(`first reading of ${size.people} people from slapd`, () =>
    start({ DIRECTORY_RECONCILE_CONTENTS_SECONDS: String(COMPARISON_SECONDS) }, READY_AND_FOLLOWING),
  );
  await sleep(REST_MS);
  const memory = median(workersOf(all.pid).map((pid) => memoryOf(pid).now));
  const load = new Load(resources);
  const [token] = issuer.tokens;
  const run = await load.prepare(all, groups, issuer.tokens);
  const connection = await connect(settings.DATABASE_URL, resources);
  const comparison = await runStep('requests during comparisons', () => measureComparison(run, connection));
  await all.stop();

  const service = await start({}, READY_AND_FOLLOWING);
  const runOfAll = await load.prepare(service, groups, issuer.tokens);
  const freshness = await runStep('freshness', () =>
    measureFreshness({ service, run: runOfAll, client, size, token }),
  );
  const one = await start({ WORKERS: '1' });
  const runOfOne = await load.prepare(one, groups, issuer.tokens);
  const workers = await runStep('one process and all', () =>
    measureWorkers({ one: runOfOne, all: runOfAll }),
  );
  await Promise.all([service.stop(), one.stop()]);
  const following = await start({ WORKERS: '1' }, READY_AND_FOLLOWING);
  const changes = await runStep('cached responses while unrelated users change', async () =>
    measureChanges({ run: await load.prepare(following, groups, issuer.tokens), connection, client, groups }),
  );
  return { memory, comparison, freshness, workers, changes };
}

async function measureFile({ environment, directory, size, resources, runStep }) {
  const issuer = await startIssuer(resources, people);
  const file = join(directory, 'directory.ldif');
  await writeLdif(file, size);
  const settings = { ...environment, ...issuer.environment, DIRECTORY_URL: `file:${file}` };
  const service = await runStep(`first reading of ${size.people} people from a file`, () =>
    FollowingService.start(settings, READY_WITH_FILE, resources),
  );
  const run = await new Load(resources).prepare(service, groups, issuer.tokens);
  // The index of the records is built after the first reading. A file that changes before is read completely.
  await sleep(INDEXING_MS);
  return runStep('requests while a changed file is read', () =>
    measureChangedFile({ service, run, file, size, token: issuer.tokens[0] }),
  );
}

/** Process ids of the workers: children of the first process that are not its follower. */
function workersOf(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' '),
  );
  const found = children.filter((child) => child !== '').map(Number);
  return found.filter((child) => !isFollower(child));
}

function isFollower(pid) {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('follower.js');
}
