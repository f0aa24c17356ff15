// An LDAP client in a process of its own: the group first, then its members with one filter. Its processor time counts as that of a server.
import { performance } from 'node:perf_hooks';
import { Client } from 'ldapts';
import { MIRROR_DN, MIRROR_PASSWORD, SUFFIX } from '../../test/support/servers/slapd.mjs';
import { Latencies, serveLoads } from '../load-generator.mjs';

const FIRST = 50;

const clients = await Promise.all(
  Array.from({ length: 16 }, async () => {
    const client = new Client({ url: process.env.SLAPD_URL });
    await client.bind(MIRROR_DN, MIRROR_PASSWORD);
    return client;
  }),
);
const latencies = new Latencies();
let groups = [];
let position = 0;

serveLoads({
  prepare: (_name, ids) => {
    groups = ids;
  },
  /** @param options id: of the only group, whose content is returned */
  async run(_name, { seconds, id }) {
    if (id !== undefined) return { content: await findMembers(clients[0], id) };
    latencies.clear();
    const begun = performance.now();
    await Promise.all(clients.map((client) => work(client, begun + seconds * 1000)));
    return latencies.summarize(begun);
  },
});

async function work(client, until) {
  for (let begun = performance.now(); begun < until;) {
    await findMembers(client, groups[position++ % groups.length]);
    const now = performance.now();
    latencies.add(now - begun);
    begun = now;
  }
}

/** The server keeps members in the order of their names. It has no signed URLs and no cursors. */
async function findMembers(client, id) {
  const { searchEntries } = await client.search(`cn=${id},ou=groups,${SUFFIX}`, {
    scope: 'base',
    attributes: ['displayName', 'member', 'owner', 'groupAdmin'],
  });
  const [group] = searchEntries;
  const members = [group.member].flat();
  const page = members.slice(0, FIRST);
  const found = await client.search(`ou=people,${SUFFIX}`, {
    scope: 'one',
    filter: `(|${page.map((dn) => `(uid=${uidOf(dn)})`).join('')})`,
    attributes: ['uid', 'displayName', 'schoolYear'],
  });
  const people = new Map(found.searchEntries.map((person) => [person.uid, person]));
  const [owners, admins] = [group.owner, group.groupAdmin].map((dns) => new Set([dns].flat()));
  return {
    name: group.displayName,
    totalCount: members.length,
    hasNextPage: members.length > FIRST,
    members: page.map((dn) => {
      const { displayName, schoolYear } = people.get(uidOf(dn));
      const role = owners.has(dn) ? 'OWNER' : admins.has(dn) ? 'ADMIN' : 'MEMBER';
      return [role, displayName, typeof schoolYear === 'string' ? schoolYear : null];
    }),
  };
}

function uidOf(dn) {
  return dn.slice('uid='.length, dn.indexOf(','));
}
