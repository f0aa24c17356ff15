// An LDAP client in a process of its own, whose processor time counts like that of the service.
import { performance } from 'node:perf_hooks';
import { Client } from 'ldapts';
import { MIRROR_DN, MIRROR_PASSWORD } from '../../../test/support/servers/slapd.mjs';
import { Latencies } from '../../load/latencies.mjs';
import { serveLoads } from '../../load/protocol.mjs';
import { findMembers, STRATEGIES } from './members.mjs';

const clients = await Promise.all(Array.from({ length: 16 }, connect));
const latencies = new Latencies();
const groups = new Map();
const positions = new Map();

serveLoads({
  prepare(strategy, ids) {
    groups.set(strategy, ids);
    positions.set(strategy, 0);
    return { content: null };
  },
  async run(strategy, { seconds, connections, id }) {
    const { findPeople, connections: share } = STRATEGIES[strategy];
    if (id !== undefined) return { content: await findMembers(clients[0], id, findPeople) };
    latencies.clear();
    const startedAt = performance.now();
    const until = startedAt + seconds * 1000;
    await Promise.all(
      Array.from({ length: connections }, (_, index) =>
        work(clients[index % share], strategy, findPeople, until),
      ),
    );
    const [p50, p99] = latencies.quantiles([0.5, 0.99]);
    return { requests: latencies.count, seconds: (performance.now() - startedAt) / 1000, p50, p99 };
  },
});

async function connect() {
  const client = new Client({ url: process.env.SLAPD_URL });
  await client.bind(MIRROR_DN, MIRROR_PASSWORD);
  return client;
}

async function work(client, strategy, findPeople, until) {
  const ids = groups.get(strategy);
  for (let startedAt = performance.now(); startedAt < until;) {
    const position = positions.get(strategy);
    positions.set(strategy, position + 1);
    await findMembers(client, ids[position % ids.length], findPeople);
    const now = performance.now();
    latencies.add(now - startedAt);
    startedAt = now;
  }
}
