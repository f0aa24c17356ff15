// Measures how soon a change of an LDAP directory is visible, and the cost of synchronization, with slapd, PostgreSQL and the
// service as separate processes: `npm run bench:live`. It is not part of the tests.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Attribute, Change, Client } from 'ldapts';
import { findFreePort, startPostgres } from '../test/support/servers/postgres.mjs';
import {
  MIRROR_DN,
  MIRROR_PASSWORD,
  ROOT_DN,
  ROOT_PASSWORD,
  startSlapd,
} from '../test/support/servers/slapd.mjs';
import { BASE, groupDn, LARGE, personDn, records } from './large-directory.mjs';

const execute = promisify(execFile);

/** The directory whose changes are timed, and the number of changes. */
const SCHOOL = { people: 10_000, groups: 1_000, memberships: 60_000 };
const CHANGES = 300;

function ldifOf(size) {
  const text = [];
  for (const lines of records(size)) text.push(lines.join('\n'));
  return `${text.join('\n\n')}\n`;
}

class Service {
  log = '';

  constructor(environment) {
    this.environment = environment;
    this.child = spawn(process.execPath, ['dist/main.js'], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text) => (this.log += text));
  }

  /** @returns milliseconds until the log matches */
  async untilLogged(pattern) {
    const startedAt = performance.now();
    while (!pattern.test(this.log)) {
      if (this.child.exitCode !== null) throw new Error(`The service ended: ${this.log}`);
      await sleep(10);
    }
    return performance.now() - startedAt;
  }

  /** Maximum resident size in megabytes (proc(5), VmHWM). */
  get megabytes() {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }

  /** Duration of each revision in milliseconds, from the log. */
  get revisions() {
    return [...this.log.matchAll(/Revision \d+ in (\d+) ms/g)].map(([, milliseconds]) =>
      Number(milliseconds),
    );
  }

  async account() {
    const { stdout } = await execute(
      process.execPath,
      [
        'dist/cli.js',
        'service-account',
        'create',
        '--id',
        'bench',
        '--name',
        'Bench',
        '--scopes',
        'read,directory',
        '--json',
      ],
      { env: { ...process.env, ...this.environment } },
    );
    this.authorization = `Basic ${JSON.parse(stdout).token}`;
  }

  async execute(query) {
    const response = await fetch(`http://127.0.0.1:${this.environment.PORT}/graphql/v1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: this.authorization },
      body: JSON.stringify({ query }),
    });
    const { data, errors } = await response.json();
    if (errors !== undefined) throw new Error(errors[0].message);
    return data;
  }

  /** @returns milliseconds until a response is as expected */
  async until(query, isExpected) {
    const startedAt = performance.now();
    while (!isExpected(await this.execute(query))) await sleep(1);
    return performance.now() - startedAt;
  }

  async stop() {
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
  }
}

function quantile(values, share) {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

const runStep = (label, values) =>
  console.log(
    `${label}: median ${quantile(values, 0.5).toFixed(0)} ms, 99 % ${quantile(values, 0.99).toFixed(0)} ms (${values.length} times)`,
  );

async function withDirectory(size, work) {
  const directory = mkdtempSync(join(tmpdir(), 'directory-live-'));
  chmodSync(directory, 0o755);
  const postgres = await startPostgres(join(directory, 'postgres'));
  const slapd = await startSlapd({ directory: join(directory, 'slapd'), ldif: ldifOf(size) });
  const client = new Client({ url: slapd.url });
  try {
    await client.bind(ROOT_DN, ROOT_PASSWORD);
    const environment = {
      PORT: String(await findFreePort()),
      DATABASE_URL: postgres.url('postgres'),
      DIRECTORY_URL: slapd.url,
      DIRECTORY_BASE_DN: BASE,
      DIRECTORY_BIND_DN: MIRROR_DN,
      DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
      LIMIT_REQUESTS_PER_MINUTE: '999999999',
      LIMIT_POINTS_PER_HOUR: '999999999',
    };
    console.log(`\n${size.people} people, ${size.groups} groups, ${size.memberships} memberships`);
    await work({ environment, client });
  } finally {
    await client.unbind();
    await slapd.remove();
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function modify(client, dn, operation, type, ...values) {
  return client.modify(dn, [new Change({ operation, modification: new Attribute({ type, values }) })]);
}

/** Renames users one by one. @returns milliseconds until each new name is visible */
async function timeRenames(service, client, size, times) {
  const latencies = [];
  for (let turn = 0; turn < times; turn++) {
    const number = (turn * 7919) % size.people;
    const name = `Renamed ${turn} ${Math.random()}`;
    const startedAt = performance.now();
    await modify(client, personDn(number), 'replace', 'displayName', name);
    await service.until(
      `{ user(user: {id: "person.${number}"}) { name } }`,
      ({ user }) => user.name === name,
    );
    latencies.push(performance.now() - startedAt);
    await sleep(20);
  }
  return latencies;
}

/** Adds admins to inner groups. @returns milliseconds until each is visible */
async function timeJoins(service, client, size, times) {
  const latencies = [];
  for (let turn = 0; turn < times; turn++) {
    const person = (turn * 104_729 + 13) % size.people;
    const group = size.groups - 1 - turn;
    const startedAt = performance.now();
    await modify(client, groupDn(group), 'add', 'groupAdmin', personDn(person));
    await service.until(
      `{ isMember(user: {id: "person.${person}"}, group: {id: "group-${group}"}, role: {is: ADMIN}) }`,
      ({ isMember }) => isMember === true,
    );
    latencies.push(performance.now() - startedAt);
    await sleep(20);
  }
  return latencies;
}

await withDirectory(SCHOOL, async ({ environment, client }) => {
  const service = new Service(environment);
  await service.untilLogged(/pushes changes/);
  await service.account();
  await timeRenames(service, client, SCHOOL, 20);
  runStep('A changed user is visible', await timeRenames(service, client, SCHOOL, CHANGES));
  runStep('A new admin of an inner group is visible', await timeJoins(service, client, SCHOOL, CHANGES));
  await service.stop();
});

await withDirectory(LARGE, async ({ environment, client }) => {
  const first = new Service(environment);
  const startedAt = performance.now();
  await first.untilLogged(/pushes changes/);
  console.log(
    `First read and apply: ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${first.megabytes} MB at most`,
  );
  await first.account();
  const before = first.revisions.length;
  await timeRenames(first, client, LARGE, 50);
  runStep('Revision with one changed user', first.revisions.slice(before));
  const later = first.revisions.length;
  await timeJoins(first, client, LARGE, 50);
  runStep('Revision with one user added to a nested group', first.revisions.slice(later));
  console.log(`${first.megabytes} MB at most`);
  await first.stop();

  const second = new Service({ ...environment, LOG_LEVEL: 'debug' });
  await second.untilLogged(/Caught up in \d+ ms/);
  console.log(`A start without changes: ${/Caught up in (\d+) ms/.exec(second.log)[1]} ms`);
  await second.stop();
});
