// How long a large directory takes to be mirrored, and how much memory: 50,000 people, 5,000 groups nested three
// deep, 300,000 memberships into a PostgreSQL of its own. `npm run bench:load`; never part of the tests.
import { spawn } from 'node:child_process';
import { chmodSync, createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.mjs';

const PEOPLE = 50_000;
const GROUPS = 5_000;
const MEMBERSHIPS = 300_000;
const MOST_SECONDS = 60;
const MOST_MEGABYTES = 512;
const BASE = 'dc=example,dc=org';

const personDn = (number) => `uid=person.${number},ou=people,${BASE}`;
const groupDn = (number) => `cn=group-${number},ou=groups,${BASE}`;

/** Seeded, so that two runs load the same (mulberry32). */
function makeRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function* people(renamed) {
  for (let number = 0; number < PEOPLE; number++) {
    const name = number === renamed ? 'Somebody Else' : `Person Ünal ${number}`;
    yield [
      `dn: ${personDn(number)}`,
      'objectClass: inetOrgPerson',
      `uid: person.${number}`,
      `cn:: ${Buffer.from(name).toString('base64')}`,
      `givenName: Person`,
      `sn: Number ${number}`,
      `mail: person.${number}@example.org`,
      `schoolYear: ${1 + (number % 6)}${'ABCD'[number % 4]}`,
      'createTimestamp: 20200801080000Z',
    ];
  }
}

/** Four groups in five are inside another one, and of those one in five has groups inside: three levels. */
function* groups() {
  const random = makeRandom(7);
  const pick = (count) => Math.floor(random() * count);
  const outermost = GROUPS / 5;
  const middle = outermost * 2;
  const inside = Array.from({ length: GROUPS }, () => []);
  for (let number = outermost; number < GROUPS; number++) {
    inside[number < middle ? pick(outermost) : outermost + pick(outermost)].push(number);
  }
  const each = MEMBERSHIPS / GROUPS;
  for (let number = 0; number < GROUPS; number++) {
    const members = new Set();
    while (members.size < each) members.add(pick(PEOPLE));
    const [owner, ...others] = [...members];
    yield [
      `dn: ${groupDn(number)}`,
      'objectClass: groupOfNames',
      `cn: group-${number}`,
      `displayName: Group ${number}`,
      `owner: ${personDn(owner)}`,
      ...others.map((member) => `member: ${personDn(member)}`),
      ...inside[number].map((inner) => `member: ${groupDn(inner)}`),
    ];
  }
}

async function writeLdif(file, renamed = null) {
  const stream = createWriteStream(file);
  const write = async (lines) => {
    if (!stream.write(`${lines.join('\n')}\n\n`)) await once(stream, 'drain');
  };
  await write(['version: 1']);
  for (const record of people(renamed)) await write(record);
  for (const record of groups()) await write(record);
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
    `${PEOPLE} people, ${GROUPS} groups, ${MEMBERSHIPS} memberships: ${Math.round(statSync(file).size / 1e6)} MB of LDIF`,
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
