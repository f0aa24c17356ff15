// How soon one change of a group of 100,000 members, many single changes, and a group that joins another one are visible.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { timeOfFamily } from '../measure/processor-time.mjs';
import { groupDn, personDn, records } from '../large-directory.mjs';
import { modify, withDirectory } from './directory.mjs';
import { quantile, report, Service } from './service.mjs';

const PEOPLE = Number(process.env.LIVE_PEOPLE ?? 100_000);
/** Members of the group that joins another one, and the number of single changes. */
const MANY = 5_000;
const TURNS = 10;
const SMALL_CHANGES = 50;
const IDLE_MS = 5_000;
/** Groups that each contain the one before. */
const NESTED = ['all', 'faculty', 'school', 'everyone'];
const SMALL = ['club', 'department', 'section', 'union'];
const JOINING = 'joining';

const nameOf = (number) => `person.${number}`;

function* directory(people) {
  yield* records({ people, groups: 0, memberships: 0 });
  const range = (count) => Array.from({ length: count }, (_, number) => personDn(number));
  // The last person is not a member.
  yield group('all', range(people - 1));
  yield group(SMALL[0], range(1));
  for (const names of [NESTED, SMALL])
    for (const [index, inner] of names.slice(0, -1).entries()) yield group(names[index + 1], [dnOf(inner)]);
  yield group(JOINING, range(MANY));
}

const dnOf = (name) => groupDn(0).replace('group-0', name);

function group(name, members) {
  return [
    `dn: ${dnOf(name)}`,
    'objectClass: groupOfNames',
    'objectClass: directoryGroup',
    `cn: ${name}`,
    `owner: ${personDn(0)}`,
    ...members.map((member) => `member: ${member}`),
  ];
}

const isMember = (service, person, name) => async () => {
  const query = `{ isMember(user: {id: "${person}"}, group: {id: "${name}"}) }`;
  return (await service.execute(query)).isMember;
};

async function timeUntil(isTrue, wanted = true) {
  const startedAt = performance.now();
  while ((await isTrue()) !== wanted) await sleep(5);
  return performance.now() - startedAt;
}

/** Sends a cheap request now and then. @returns a function that ends them and returns their durations */
function sendRequests(service) {
  const latencies = [];
  let isRunning = true;
  const running = (async () => {
    while (isRunning) {
      const startedAt = performance.now();
      await service.execute('{ user(user: {id: "person.1"}) { name } }');
      latencies.push(performance.now() - startedAt);
      await sleep(20);
    }
  })();
  return async () => {
    isRunning = false;
    await running;
    return latencies;
  };
}

/** Reports what changes cost, and how long requests take meanwhile. A busy machine does not affect the processor time. */
async function withCosts({ service, database }, work) {
  const processes = { service: service.child.pid, database };
  const read = () => Object.entries(processes).map(([name, pid]) => [name, timeOfFamily(pid)]);
  const revisions = service.revisions.length;
  const before = new Map(read());
  const end = sendRequests(service);
  const latencies = await work();
  const requests = await end();
  const spent = read().map(([name, time]) => `${name} ${time - before.get(name)} ms`);
  report('  revisions', service.revisions.slice(revisions));
  console.log(`  processor time: ${spent.join(', ')}`);
  report('  requests meanwhile', requests);
  const longest = quantile(requests, 1);
  console.log(`  slowest request: ${longest.toFixed(0)} ms`);
  return { slowest: quantile(latencies, 1), longest, p99: quantile(requests, 0.99) };
}

/** The 99th percentile of the durations of requests while nothing changes, in milliseconds. */
async function measureIdle(service) {
  const end = sendRequests(service);
  await sleep(IDLE_MS);
  const requests = await end();
  report('Requests while nothing changes', requests);
  return quantile(requests, 0.99);
}

/** @returns the median duration of the revision of one renamed user, in milliseconds, as the log says */
async function timeSmallRevisions({ service, client }) {
  const before = service.revisions.length;
  for (let number = 0; number < SMALL_CHANGES; number++) {
    const name = `Renamed ${number}`;
    await modify(client, personDn(number), 'replace', 'displayName', name);
    await service.until(
      `{ user(user: {id: "${nameOf(number)}"}) { name } }`,
      ({ user }) => user.name === name,
    );
  }
  const revisions = service.revisions.slice(before);
  report('Revisions of one renamed user', revisions);
  return quantile(revisions, 0.5);
}

/** @returns after how many milliseconds each change is visible */
async function timeSingleMember({ service, client, people }) {
  const last = people - 1;
  const latencies = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const operation = turn % 2 === 0 ? 'add' : 'delete';
    await modify(client, dnOf('all'), operation, 'member', personDn(last));
    latencies.push(await timeUntil(isMember(service, nameOf(last), 'everyone'), operation === 'add'));
  }
  report(`One member of a group of ${people} joins or leaves`, latencies);
  return latencies;
}

/** @returns after how many milliseconds the last change is visible */
async function timeManyChanges({ service, client }) {
  const startedAt = performance.now();
  for (let number = 0; number < MANY; number++)
    await modify(client, personDn(number), 'replace', 'displayName', `Changed ${startedAt}`);
  const written = performance.now() - startedAt;
  const query = `{ user(user: {id: "person.${MANY - 1}"}) { name } }`;
  const visible = await service.until(query, ({ user }) => user.name === `Changed ${startedAt}`);
  const texts = [written, visible].map((milliseconds) => `${milliseconds.toFixed(0)} ms`);
  console.log(`${MANY} single changes in ${texts[0]}: the last one is visible after ${texts[1]}`);
  return [visible];
}

/** A group of people joins a group three levels deep. @returns after how many milliseconds each change is visible */
async function timeNesting({ service, client }) {
  const [innermost, , , outermost] = SMALL;
  const latencies = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const operation = turn % 2 === 0 ? 'add' : 'delete';
    await modify(client, dnOf(innermost), operation, 'member', dnOf(JOINING));
    latencies.push(await timeUntil(isMember(service, nameOf(MANY - 1), outermost), operation === 'add'));
  }
  report(`A group of ${MANY} joins or leaves a group three levels deep`, latencies);
  return latencies;
}

/**
 * @returns for each kind of change, in milliseconds, when the slowest one is visible, and the longest request and the 99th percentile
 *   of requests meanwhile; the latter also while nothing changes, and the median duration of the revision of one changed user
 */
export function measureLargeGroups(people = PEOPLE) {
  return withDirectory(directory(people), async ({ environment, client, database }) => {
    const service = new Service(environment);
    await service.untilLogged(/pushes changes/);
    await service.account();
    const place = { service, client, database, people };
    const revision = await timeSmallRevisions(place);
    const idle = await measureIdle(service);
    const member = await withCosts(place, () => timeSingleMember(place));
    const many = await withCosts(place, () => timeManyChanges(place));
    const nested = await withCosts(place, () => timeNesting(place));
    await service.stop();
    return { idle, revision, member, many, nested };
  });
}
