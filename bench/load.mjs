// Measures time and memory of mirroring a large directory: 50,000 users, 5,000 groups nested three levels deep, and 300,000
// memberships: `npm run bench:load`. With `-- --people 1000000`: as many users, a twentieth as many groups, and six times as many
// memberships. It is not part of the tests.
import { spawn } from 'node:child_process';
import { chmodSync, createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/servers/postgres.mjs';
import { LARGE, records } from './large-directory.mjs';

const { values: options } = parseArgs({ options: { people: { type: 'string' } } });
const people = Number(options.people ?? LARGE.people);
const SIZE = options.people === undefined ? LARGE : { people, groups: people / 20, memberships: people * 6 };
const MAX_SECONDS = Math.max(60, (600 * people) / 1_000_000);
const MAX_MEGABYTES = 400;

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
  const child = spawn(process.execPath, ['dist/cli.js', ...args], {
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

const work = mkdtempSync(join(tmpdir(), 'directory-load-'));
chmodSync(work, 0o755);
const postgres = await startPostgres(join(work, 'postgres'));
try {
  const file = join(work, 'directory.ldif');
  await writeLdif(file);
  console.log(
    `${SIZE.people} people, ${SIZE.groups} groups, ${SIZE.memberships} memberships: ${Math.round(statSync(file).size / 1e6)} MB of LDIF`,
  );
  const environment = { DATABASE_URL: postgres.url('postgres'), DIRECTORY_URL: `file:${file}` };
  const runStep = (label, { seconds, megabytes }) =>
    console.log(`${label}: ${seconds.toFixed(1)} s, ${Math.round(megabytes)} MB at most`);

  const first = await measure(environment, 'sync');
  runStep('First load', first);
  await writeLdif(file, 4711);
  runStep('One changed user', await measure(environment, 'sync'));
  runStep('No change', await measure(environment, 'sync'));
  if (first.seconds > MAX_SECONDS || first.megabytes > MAX_MEGABYTES) {
    console.error(`Required: ${MAX_SECONDS} s, ${MAX_MEGABYTES} MB`);
    process.exitCode = 1;
  }
} finally {
  await postgres.stop();
  rmSync(work, { recursive: true, force: true });
}
