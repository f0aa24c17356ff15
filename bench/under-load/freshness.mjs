// How soon a change of the directory is visible while the service answers most of the requests that it can.
import { setTimeout as sleep } from 'node:timers/promises';
import { modify } from '../live/directory.mjs';
import { quantile } from '../live/service.mjs';
import { personDn } from '../large-directory.mjs';
import { CONNECTIONS } from '../options.mjs';
import { timeUntil } from './slices.mjs';

const SECONDS_OF_CAPACITY = 5;
const LOAD = 0.7;
const CHANGES = 100;
/** Milliseconds between two changes. */
const PAUSE_MS = 100;

export async function measureFreshness({ service, run, client, size, token }) {
  await run({ seconds: SECONDS_OF_CAPACITY, connections: CONNECTIONS, rate: null });
  const full = await run({ seconds: SECONDS_OF_CAPACITY, connections: CONNECTIONS, rate: null });
  const rate = LOAD * (full.requests / full.seconds);
  const idle = await timeChanges({ service, client, size, token });
  let isOver = false;
  const load = (async () => {
    while (!isOver) await run({ seconds: 1, connections: CONNECTIONS, rate });
  })();
  const loaded = await timeChanges({ service, client, size, token });
  isOver = true;
  await load;
  const both = (values) => ({ p50: quantile(values, 0.5), p99: quantile(values, 0.99) });
  return { rate, idle: both(idle), loaded: both(loaded) };
}

async function timeChanges({ service, client, size, token }) {
  const latencies = [];
  for (let turn = 0; turn < CHANGES; turn++) {
    const number = (turn * 7919) % size.people;
    const name = `Renamed ${turn} ${Math.random()}`;
    await modify(client, personDn(number), 'replace', 'displayName', name);
    const query = `{ user(user: {id: "person.${number}"}) { name } }`;
    latencies.push(await timeUntil(async () => (await service.execute(query, token)).user.name === name));
    await sleep(PAUSE_MS);
  }
  return latencies;
}
