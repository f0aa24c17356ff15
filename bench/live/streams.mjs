// What idle streams of changes cost, and how soon a change arrives on each of them.
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { personDn, records } from '../large-directory.mjs';
import { memoryOf } from '../measure/processor-time.mjs';
import { modify, withDirectory } from './directory.mjs';
import { report, Service } from './service.mjs';

const SIZE = { people: 1_000, groups: 100, memberships: 6_000 };
const STREAMS = 5_000;
/** Streams that are opened at the same time. */
const CONCURRENCY = 50;
const CHANGES = 60;
/** Milliseconds in which comments are sent on each stream. */
const IDLE_MS = 30_000;

/** Opens a stream, and calls a function for each change with the time of its arrival. */
function open({ environment, authorization }, onChange) {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', authorization };
    const options = { host: '127.0.0.1', port: environment.PORT, path: '/changes/v1', headers, agent: false };
    const sent = request(options, (response) => {
      if (response.statusCode !== 200)
        return reject(new Error(`A stream is rejected: ${response.statusCode}`));
      response.on('data', (bytes) => {
        if (bytes.includes('\nevent: ')) onChange(performance.now());
      });
      response.on('error', () => undefined);
      resolve(sent);
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function openAll(service, onChange) {
  const opened = [];
  while (opened.length < STREAMS) {
    const some = Array.from({ length: CONCURRENCY }, () => open(service, onChange));
    opened.push(...(await Promise.all(some)));
  }
  return opened;
}

async function timeChanges(client, arrivals) {
  const times = { first: [], last: [] };
  for (let turn = 0; turn < CHANGES; turn++) {
    arrivals.length = 0;
    const startedAt = performance.now();
    await modify(client, personDn(turn), 'replace', 'displayName', `Changed ${turn}`);
    while (arrivals.length < STREAMS) await sleep(5);
    times.first.push(arrivals[0] - startedAt);
    times.last.push(arrivals.at(-1) - startedAt);
    await sleep(200);
  }
  return times;
}

export async function measureStreams() {
  await withDirectory(records(SIZE), async ({ environment, client }) => {
    const more = { LIMIT_STREAMS: String(STREAMS), LIMIT_STREAMS_PER_PRINCIPAL: String(STREAMS) };
    const service = new Service({ ...environment, ...more });
    await service.untilLogged(/pushes changes/);
    await service.account();
    // Code that the first streams load is not of each stream.
    const arrivals = [];
    const first = await open(service, () => undefined);
    await sleep(IDLE_MS);
    first.destroy();
    const before = memoryOf(service.child.pid).now;
    const opened = await openAll(service, (at) => arrivals.push(at));
    await sleep(IDLE_MS);
    const after = memoryOf(service.child.pid).now;
    console.log(
      `${STREAMS} idle streams take ${(after - before).toFixed(0)} MB (${before.toFixed(0)} MB before)`,
    );
    const { first: soonest, last } = await timeChanges(client, arrivals);
    report('A change arrives on the first stream', soonest);
    report('… on the last stream', last);
    for (const each of opened) each.destroy();
    await service.stop();
  });
}
