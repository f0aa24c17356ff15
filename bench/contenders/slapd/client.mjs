// A client that asks slapd directly, in a process of its own: its processor time counts, as that of the service does.
import { performance } from 'node:perf_hooks';
import { Client } from 'ldapts';
import { MIRROR_DN, MIRROR_PASSWORD } from '../../../test/support/servers/slapd.mjs';
import { Latencies } from '../../load/latencies.mjs';
import { serveLoads } from '../../load/protocol.mjs';
import { findMembers, WAYS } from './members.mjs';

const clients = await Promise.all(Array.from({ length: 16 }, connect));
const latencies = new Latencies();
const groups = new Map();
const positions = new Map();

serveLoads({
  prepare(way, ids) {
    groups.set(way, ids);
    positions.set(way, 0);
    return { answer: null };
  },
  async run(way, { seconds, connections, id }) {
    const { findPeople, connections: share } = WAYS[way];
    if (id !== undefined) return { answer: await findMembers(clients[0], id, findPeople) };
    latencies.clear();
    const begun = performance.now();
    const until = begun + seconds * 1000;
    await Promise.all(
      Array.from({ length: connections }, (_, index) => work(clients[index % share], way, findPeople, until)),
    );
    const [p50, p99] = latencies.quantiles([0.5, 0.99]);
    return { requests: latencies.count, seconds: (performance.now() - begun) / 1000, p50, p99 };
  },
});

async function connect() {
  const client = new Client({ url: process.env.SLAPD_URL });
  await client.bind(MIRROR_DN, MIRROR_PASSWORD);
  return client;
}

async function work(client, way, findPeople, until) {
  const ids = groups.get(way);
  for (let begun = performance.now(); begun < until;) {
    const position = positions.get(way);
    positions.set(way, position + 1);
    await findMembers(client, ids[position % ids.length], findPeople);
    const now = performance.now();
    latencies.add(now - begun);
    begun = now;
  }
}
