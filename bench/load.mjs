// What it takes to mirror a directory of some size from OpenLDAP, and to answer meanwhile: npm run bench:load [-- --users 1000000]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { flatFrom, groupId, groupsOf, personId, searchTerms, startDirectory } from './directory.mjs';
import { LoadProcess } from './load-process.mjs';
import { makeWorkDirectory, memoryOf, runCommand, runStep } from './processes.mjs';
import { LOOKUP, LOOKUP_BY_SCIM, PAGE, QUERIES } from './queries.mjs';
import { goalTable, writeSection } from './report.mjs';
import { FULL, measureRounds, median, readOptions } from './rounds.mjs';
import { execute, Issuer, Service } from './service.mjs';

/** Limits by number of users: megabytes of the first load, milliseconds of the longest request and of a search. */
const LIMITS = new Map([
  [100_000, { memory: 350, longest: 100, search: 100 }],
  [1_000_000, { memory: 450, longest: null, search: null }],
]);
/** A first load and a scan, as multiples of what ldapsearch(1) takes to read the same and to drop it. */
const LOAD_RATIO = 60;
const SCAN_RATIO = 6;
const SCANS = 3;
/** Seconds between two scans while they are measured. */
const SCAN_SECONDS = 5;
const WARM_SECONDS = 5;
/** Node.js gives back the memory of the start only some time after it. */
const REST_MS = 60_000;
/** A group with a fifth of the users as direct members. */
const LARGEST = 'students';
/** Where a deep page begins in it. */
const DEEP = 0.9;

const { values } = readOptions({ users: { type: 'string', default: '100000' } });
const users = Number(values.users);

/** The first process reads everything. Meanwhile it answers whether it is alive, and nothing of the directory. */
async function measureFirstLoad(settings, load, resources) {
  const begun = performance.now();
  const service = await Service.spawn(resources, settings);
  await service.child.until(() => service.answers('/_health'));
  await load.prepare('health', { port: service.port, paths: ['/_health'] });
  const { longest } = await load.probe('health', () => service.untilReady());
  return {
    service,
    seconds: (performance.now() - begun) / 1000,
    memory: memoryOf(service.child.pid).max,
    longest,
  };
}

/** @returns the seconds in which ldapsearch(1) reads and drops attributes of all entries */
async function timeSearch({ settings }, ...attributes) {
  const { DIRECTORY_URL, DIRECTORY_BASE_DN, DIRECTORY_BIND_DN, DIRECTORY_BIND_PASSWORD } = settings;
  const bind = ['-x', '-H', DIRECTORY_URL, '-D', DIRECTORY_BIND_DN, '-w', DIRECTORY_BIND_PASSWORD];
  const search = [
    '-LLL',
    '-E',
    'pr=1000/noprompt',
    '-b',
    DIRECTORY_BASE_DN,
    '(objectClass=*)',
    ...attributes,
  ];
  const begun = performance.now();
  const child = spawn('ldapsearch', [...bind, ...search], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error('ldapsearch has failed');
  return (performance.now() - begun) / 1000;
}

/** @returns the median of the seconds that some scans take */
async function timeScans(service) {
  const seconds = [];
  const countScans = () => service.readMetric('directory_mirror_runs_total');
  for (let before = await countScans(); seconds.length < SCANS;) {
    await sleep(200);
    const now = await countScans();
    if (now > before) seconds.push(await service.readMetric('directory_mirror_last_scan_seconds'));
    before = now;
  }
  return median(seconds);
}

/** The cursor of a page in the last tenth of a group. */
async function findDeepCursor({ port }, id, token) {
  let after = null;
  for (let passed = 50; ; passed += 50) {
    const { group } = await execute(port, { query: PAGE, variables: { id, after } }, token);
    after = group.members.pageInfo.endCursor;
    if (passed >= group.members.totalCount * DEEP) return after;
  }
}

/** The path of a page of all users by SCIM after a cursor. */
function scimPage(cursor) {
  return `/scim/v2/Users?excludedAttributes=groups&count=100&cursor=${encodeURIComponent(cursor)}`;
}

/** The cursor of a page by SCIM in the last tenth of the users. */
async function findDeepScimCursor({ port }, token) {
  let cursor = '';
  for (let passed = 0; passed < users * DEEP; passed += 100) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${port}${scimPage(cursor)}`, { headers });
    ({ nextCursor: cursor } = await response.json());
  }
  return cursor;
}

/** The id in different case, which the service ignores, so that the requests differ. */
function spellings(id) {
  const letters = [...id];
  return Array.from({ length: 2 ** letters.length }, (_, pattern) =>
    letters.map((letter, index) => ((pattern >> index) & 1 ? letter.toUpperCase() : letter)).join(''),
  );
}

async function measureReads(service, load, tokens) {
  const cursor = await findDeepCursor(service, LARGEST, tokens[0]);
  const pages = (after) => spellings(LARGEST).map((id) => JSON.stringify({ id, after }));
  const terms = searchTerms(users, 20_000).map((query) => JSON.stringify({ query }));
  const ids = Array.from({ length: 20_000 }, (_, index) => personId((index * 7919) % users));
  const byName = (id) => `/scim/v2/Users?attributes=${LOOKUP_BY_SCIM}&filter=userName%20eq%20%22${id}%22`;
  const loads = {
    lookup: { query: LOOKUP, variables: ids.map((id) => JSON.stringify({ id })) },
    scimLookup: { paths: ids.map(byName) },
    scimFirst: { paths: [scimPage('')] },
    scimDeep: { paths: [scimPage(await findDeepScimCursor(service, tokens[0]))] },
    first: { query: PAGE, variables: pages(null) },
    deep: { query: PAGE, variables: pages(cursor) },
    search: { query: QUERIES.search.query, variables: terms },
  };
  const scenarios = [];
  for (const [name, each] of Object.entries(loads)) {
    await load.prepare(name, { ...each, port: service.port, tokens });
    scenarios.push({ name, pids: service.pids, run: (seconds) => load.run(name, { seconds }) });
  }
  const figures = await measureRounds(scenarios, FULL);
  return {
    deep: figures.compare('deep', 'first'),
    search: figures.of('search').p99,
    scimLookup: figures.compare('lookup', 'scimLookup'),
    scimDeep: figures.compare('scimDeep', 'scimFirst'),
  };
}

await runCommand(async (resources) => {
  const work = makeWorkDirectory(resources);
  const issuer = await Issuer.start(resources);
  const load = new LoadProcess(resources);
  const directory = await startDirectory(resources, work, users, { large: { [LARGEST]: users / 5 } });
  const settings = {
    ...directory.settings,
    ...issuer.settings,
    DATABASE_URL: `embedded:${join(work, 'database')}`,
  };
  const often = { ...settings, DIRECTORY_SCAN_SECONDS: String(SCAN_SECONDS) };
  const dump = await runStep('ldapsearch of all attributes', () => timeSearch(directory, '*', '+'));
  const list = await runStep('ldapsearch of identities', () =>
    timeSearch(directory, 'entryUUID', 'entryCSN'),
  );
  const first = await runStep('first load', () => measureFirstLoad(often, load, resources));

  const count = Math.min(200, groupsOf(users) - flatFrom(users));
  const variables = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ id: groupId(flatFrom(users) + index) }),
  );
  const probe = async (service, work) => {
    const tokens = [await issuer.tokenOf(personId(0))];
    await load.prepare('members', { query: QUERIES.members.query, port: service.port, variables, tokens });
    // The first requests of a process take longer also without other work.
    await load.run('members', { seconds: WARM_SECONDS });
    return load.probe('members', work);
  };
  const scan = await runStep('scans', () => probe(first.service, () => timeScans(first.service)));
  await first.service.stop();

  const service = await runStep('second start', () =>
    Service.start(resources, { ...settings, RESPONSE_CACHE_MEGABYTES: '0' }),
  );
  const whole = await runStep('all entries read again', () =>
    probe(service, async () => {
      const begun = performance.now();
      await service.command('sync');
      return (performance.now() - begun) / 1000;
    }),
  );
  const reads = await measureReads(service, load, await issuer.tokensOf([0, 1, 2, 3].map(personId)));
  const resting = await Service.start(resources, settings);
  await runStep('rest', () => sleep(REST_MS));

  const limits = LIMITS.get(users) ?? { memory: null, longest: null, search: null };
  const goals = [
    ['First load, seconds from the start of the process', null, null, first.seconds],
    ['… ÷ ldapsearch of all attributes', null, LOAD_RATIO, first.seconds / dump],
    ['… largest memory of the process, MB', null, limits.memory, first.memory],
    ['… longest request meanwhile, ms', null, limits.longest, first.longest],
    ['A scan of all entries, seconds', null, null, scan.result],
    ['… ÷ ldapsearch of the identities and times of all entries', null, SCAN_RATIO, scan.result / list],
    ['… longest request meanwhile, ms', null, limits.longest, scan.longest],
    ['All entries read again by `./directory sync`, seconds', null, null, whole.result],
    ['… longest request meanwhile, ms', null, limits.longest, whole.longest],
    [
      'A page of the last tenth of the largest group ÷ its first page, responses a second',
      0.8,
      null,
      reads.deep,
    ],
    ['SCIM, `userName eq` ÷ GraphQL, `user` by id: time of a response', null, 1.2, reads.scimLookup],
    [
      'SCIM, a page of the last tenth of the users ÷ the first page, responses a second',
      0.8,
      null,
      reads.scimDeep,
    ],
    ['Q5, uncached, 16 clients: 99th percentile, ms', null, limits.search, reads.search],
    ['A process at rest that does not follow the directory, MB', null, 140, memoryOf(resting.child.pid).now],
  ];
  const size = `${users.toLocaleString('en')} users`;
  await writeSection({
    title: `Load of ${size}`,
    parts: [
      `\`npm run bench:load -- --users ${users}\`: OpenLDAP with ${size}, ${groupsOf(users).toLocaleString('en')} groups in three levels, ${(users * 6).toLocaleString('en')} memberships, and a group with a fifth of the users. One process, with its embedded database.`,
      goalTable(goals),
    ],
    isUsual: LIMITS.has(users),
  });
});
