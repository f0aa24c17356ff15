// How soon single changes are visible, and what they cost in a large directory.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupDn, LARGE, personDn, records } from '../large-directory.mjs';
import { modify, withDirectory } from './directory.mjs';
import { report, Service } from './service.mjs';

/** The directory whose changes are timed, and the number of changes. */
const SCHOOL = { people: 10_000, groups: 1_000, memberships: 60_000 };
const CHANGES = 300;

function recordsOf(size) {
  console.log(`\n${size.people} people, ${size.groups} groups, ${size.memberships} memberships`);
  return records(size);
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

export async function measureSingleChanges() {
  await withDirectory(recordsOf(SCHOOL), async ({ environment, client }) => {
    const service = new Service(environment);
    await service.untilLogged(/pushes changes/);
    await service.account();
    await timeRenames(service, client, SCHOOL, 20);
    report('A changed user is visible', await timeRenames(service, client, SCHOOL, CHANGES));
    report('A new admin of an inner group is visible', await timeJoins(service, client, SCHOOL, CHANGES));
    await service.stop();
  });
}

export async function measureLargeDirectory() {
  await withDirectory(recordsOf(LARGE), async ({ environment, client }) => {
    const first = new Service(environment);
    const startedAt = performance.now();
    await first.untilLogged(/pushes changes/);
    console.log(
      `First read and apply: ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${first.megabytes} MB at most`,
    );
    await first.account();
    const before = first.revisions.length;
    await timeRenames(first, client, LARGE, 50);
    report('Revision with one changed user', first.revisions.slice(before));
    const later = first.revisions.length;
    await timeJoins(first, client, LARGE, 50);
    report('Revision with one user added to a nested group', first.revisions.slice(later));
    console.log(`${first.megabytes} MB at most`);
    await first.stop();

    const second = new Service({ ...environment, LOG_LEVEL: 'debug' });
    await second.untilLogged(/Caught up in \d+ ms/);
    console.log(`A start without changes: ${/Caught up in (\d+) ms/.exec(second.log)[1]} ms`);
    await second.stop();
  });
}
