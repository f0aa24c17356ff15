// Measures what a large directory takes to be mirrored and read: `npm run bench:load -- --people 1000000`, with a twentieth as many
// groups nested three levels deep, and six times as many memberships. It is not part of the tests.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { format, resolveConfig } from 'prettier';
import { startPostgres } from '../test/support/servers/postgres.mjs';
import { MIRROR_DN, MIRROR_PASSWORD, startSlapd } from '../test/support/servers/slapd.mjs';
import { BASE, records } from './large-directory.mjs';
import { measureReads } from './reads-by-size.mjs';
import { digits, table } from './report/numbers.mjs';
import { runStep } from './run-step.mjs';

const { values: options } = parseArgs({
  options: { people: { type: 'string', default: '100000' }, out: { type: 'string', default: '.tmp/bench' } },
});
const people = Number(options.people);
const SIZE = { people, groups: people / 20, memberships: people * 6 };

async function writeLdif(file, renamed = null) {
  const stream = createWriteStream(file);
  const write = async (lines) => {
    if (!stream.write(`${lines.join('\n')}\n\n`)) await once(stream, 'drain');
  };
  await write(['version: 1']);
  for (const record of records(SIZE, renamed)) await write(record);
  stream.end();
  await once(stream, 'finish');
}

/** Runs a command of the service. @returns its duration in seconds and its maximum resident size in megabytes */
async function measure(environment, ...args) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['dist/bundled/cli.js', ...args], {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  let megabytes = 0;
  const ended = once(child, 'exit');
  for (;;) {
    // The kernel records the maximum (proc(5), VmHWM). Polling often brings the last reading close to the end.
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      megabytes = Math.max(megabytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // Ended between two readings.
    }
    if ((await Promise.race([ended, sleep(50)])) !== undefined) break;
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`directory ${args.join(' ')} ended with ${code}`);
  return { seconds: (performance.now() - startedAt) / 1000, megabytes };
}

/** Reads a file of the directory three times: everything, one changed user, and no change. Then a server. */
async function measureRuns() {
  const work = mkdtempSync(join(tmpdir(), 'directory-load-'));
  chmodSync(work, 0o755);
  const postgres = await startPostgres(join(work, 'postgres'));
  try {
    const file = join(work, 'directory.ldif');
    await writeLdif(file);
    const { people, groups, memberships } = SIZE;
    console.log(
      `${people} people, ${groups} groups, ${memberships} memberships: ${Math.round(statSync(file).size / 1e6)} MB of LDIF`,
    );
    const environment = { DATABASE_URL: postgres.url('postgres'), DIRECTORY_URL: `file:${file}` };
    const first = await runStep('first reading', () => measure(environment, 'sync'));
    const database = await sizeOf(environment.DATABASE_URL);
    await writeLdif(file, 4711);
    const changed = await runStep('one changed user', () => measure(environment, 'sync'));
    const unchanged = await runStep('no change', () => measure(environment, 'sync'));
    await query(environment.DATABASE_URL, 'create database of_slapd');
    const server = await measureServer(postgres.url('of_slapd'), file, work);
    return { first, database, changed, unchanged, server };
  } finally {
    await postgres.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Reads the same directory twice from slapd. */
async function measureServer(databaseUrl, file, work) {
  const slapd = await startSlapd({ directory: join(work, 'slapd'), maxBytes: SIZE.people * 20_000 });
  try {
    await slapd.stop();
    await runStep('slapadd', () => slapd.addFile(file));
    await slapd.start();
    const environment = {
      DATABASE_URL: databaseUrl,
      DIRECTORY_URL: slapd.url,
      DIRECTORY_BASE_DN: BASE,
      DIRECTORY_BIND_DN: MIRROR_DN,
      DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
    };
    const first = await runStep('first reading from slapd', () => measure(environment, 'sync'));
    const unchanged = await runStep('no change in slapd', () => measure(environment, 'sync'));
    return { first, unchanged };
  } finally {
    await slapd.remove();
  }
}

/** In gigabytes. */
async function sizeOf(url) {
  const [{ size }] = await query(url, 'select pg_database_size(current_database()) / 1e9::float8 as size');
  return size;
}

async function query(url, text) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}

const share = SIZE.people / 1_000_000;
const ONE_THREAD =
  'Each entry is read, mapped and hashed by one thread, which takes 11 seconds of processor time for 100,000 users with their memberships.';
/** The label, the goal, what was measured, and why a goal is missed. */
const GOALS = [
  ['First reading, in seconds', 600 * share, ({ first }) => first.seconds, ONE_THREAD],
  ['… memory of the service, in MB', 400, ({ first }) => first.megabytes],
  [
    '… size of the database, in GB',
    3.5 * share,
    ({ database }) => database,
    'Groups are nested three levels deep, and a membership counts once for each group around it: 14 effective memberships for each user, of 0.4 kB with the indexes by which pages are read.',
  ],
  ['A run with one changed user, in seconds', null, ({ changed }) => changed.seconds],
  ['… memory, in MB', 400, ({ changed }) => changed.megabytes],
  ['A run without changes, in seconds', 60 * share, ({ unchanged }) => unchanged.seconds],
  ['… memory, in MB', 400, ({ unchanged }) => unchanged.megabytes],
  ['First reading from slapd, in seconds', 600 * share, ({ server }) => server.first.seconds, ONE_THREAD],
  ['… memory, in MB', 400, ({ server }) => server.first.megabytes],
  ['A run without changes from slapd, in seconds', 60 * share, ({ server }) => server.unchanged.seconds],
  ['… memory, in MB', 400, ({ server }) => server.unchanged.megabytes],
  [
    'Q1 ÷ with 100,000 users, processor time',
    1.3,
    ({ reads }) => reads.members,
    'The blocks of ten times as many rows share the caches of the processor. Four runs gave 1.17, 1.58, 1.19 and 1.26.',
  ],
  ['A deep page ÷ with 100,000 users, processor time', 1.3, ({ reads }) => reads.deep],
  [
    'A search: 99th percentile in ms',
    100,
    ({ reads }) => reads.search,
    'A search for the beginning of a family name reads all of its users, to order them by name. 16 clients share two cores.',
  ],
];

function describe(results) {
  const goals = GOALS.map(([label, atMost, measure, reason = 'The reason is not known.']) => {
    const value = measure(results);
    return { label, atMost, value, reason, isMet: atMost === null || value <= atMost };
  });
  const rows = goals.map(({ label, atMost, value, isMet }) => {
    const goal = atMost === null ? ['', ''] : [`≤ ${digits(atMost)}`, isMet ? 'met' : '**missed**'];
    return [label, goal[0], digits(value), goal[1]];
  });
  const reasons = goals.flatMap(({ label, reason, isMet }) => (isMet ? [] : [`- ${label}: ${reason}`]));
  return [table(['', 'goal', 'measured', ''], rows), reasons.join('\n')].join('\n\n');
}

const runs = await measureRuns();
const reads = await measureReads(SIZE.people, runStep);
const text = `# Benchmark of a large directory

Written by \`npm run bench:load -- --people ${SIZE.people}\` on ${new Date().toISOString().slice(0, 10)}: ${SIZE.people.toLocaleString('en-GB')} users, ${SIZE.groups.toLocaleString('en-GB')} groups in three levels, ${SIZE.memberships.toLocaleString('en-GB')} memberships, read from an LDIF file and from slapd. [bench/README.md](README.md) describes the method.

${describe({ ...runs, reads })}
`;
const report = join(options.out, 'LOAD.md');
mkdirSync(options.out, { recursive: true });
writeFileSync(report, await format(text, { ...(await resolveConfig(report)), parser: 'markdown' }));
console.log(text, report);
process.exit();
