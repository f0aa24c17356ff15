// How long a large directory takes to be mirrored, and how much memory: 50,000 people, 5,000 groups nested three
// deep, 300,000 memberships into a PostgreSQL of its own. `npm run bench:load`; never part of the tests.
import { spawn } from 'node:child_process';
import { chmodSync, createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/servers/postgres.mjs';
import { LARGE, records } from './large-directory.mjs';

const MOST_SECONDS = 60;
const MOST_MEGABYTES = 512;
async function writeLdif(file, renamed = null) {
  const stream = createWriteStream(file);
  const write = async (lines) => {
    if (!stream.write(`${lines.join('\n')}\n\n`)) await once(stream, 'drain');
  };
  await write(['version: 1']);
  for (const record of records(LARGE, renamed)) await write(record);
  stream.end();
  await once(stream, 'finish');
}

/** Runs a command of the service; gives its seconds and the most memory that it held. */
async function measure(environment, ...args) {
  const begun = performance.now();
  const child = spawn(process.execPath, ['dist/cli.js', ...args], {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  let megabytes = 0;
  const ended = once(child, 'exit');
  for (;;) {
    // The kernel keeps the peak itself (proc(5), VmHWM): looking often only makes the last look a late one.
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      megabytes = Math.max(megabytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // Ended between two looks.
    }
    if ((await Promise.race([ended, sleep(50)])) !== undefined) break;
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`directory ${args.join(' ')} ended with ${code}`);
  return { seconds: (performance.now() - begun) / 1000, megabytes };
}

const work = mkdtempSync(join(tmpdir(), 'directory-load-'));
chmodSync(work, 0o755);
const postgres = await startPostgres(join(work, 'postgres'));
try {
  const file = join(work, 'directory.ldif');
  await writeLdif(file);
  console.log(
    `${LARGE.people} people, ${LARGE.groups} groups, ${LARGE.memberships} memberships: ${Math.round(statSync(file).size / 1e6)} MB of LDIF`,
  );
  const environment = { DATABASE_URL: postgres.url('postgres'), DIRECTORY_URL: `file:${file}` };
  const tell = (what, { seconds, megabytes }) =>
    console.log(`${what}: ${seconds.toFixed(1)} s, ${Math.round(megabytes)} MB at most`);

  const first = await measure(environment, 'sync');
  tell('First load', first);
  await writeLdif(file, 4711);
  tell('One changed person', await measure(environment, 'sync'));
  tell('Nothing changed, read all the same', await measure(environment, 'sync'));
  if (first.seconds > MOST_SECONDS || first.megabytes > MOST_MEGABYTES) {
    console.error(`Required: ${MOST_SECONDS} s, ${MOST_MEGABYTES} MB`);
    process.exitCode = 1;
  }
} finally {
  await postgres.stop();
  rmSync(work, { recursive: true, force: true });
}
