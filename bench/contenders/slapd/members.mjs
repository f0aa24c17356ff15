// Reads a group with its first fifty members from an LDAP server, with several strategies.
import { SUFFIX } from '../../../test/support/servers/slapd.mjs';

const GROUP_ATTRIBUTES = ['displayName', 'member', 'owner', 'groupAdmin'];
const PERSON_ATTRIBUTES = ['uid', 'displayName', 'schoolYear'];
const FIRST = 50;

/** All read the group first, then its members: with one filter that contains all of them, or one by one. */
export const STRATEGIES = {
  'one filter for all members': { findPeople: findByFilter, connections: 16 },
  'one filter, four connections': { findPeople: findByFilter, connections: 4 },
  'one request per member': { findPeople: findOneByOne, connections: 16 },
};

/** @param {import('ldapts').Client} client after its bind */
export async function findMembers(client, id, findPeople) {
  const { searchEntries } = await client.search(`cn=${id},ou=groups,${SUFFIX}`, {
    scope: 'base',
    attributes: GROUP_ATTRIBUTES,
  });
  const [group] = searchEntries;
  const members = [group.member].flat();
  const page = members.slice(0, FIRST);
  const people = new Map((await findPeople(client, page)).map((person) => [person.uid, person]));
  const owners = new Set([group.owner].flat());
  const admins = new Set([group.groupAdmin].flat());
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

async function findByFilter(client, dns) {
  const { searchEntries } = await client.search(`ou=people,${SUFFIX}`, {
    scope: 'one',
    filter: `(|${dns.map((dn) => `(uid=${uidOf(dn)})`).join('')})`,
    attributes: PERSON_ATTRIBUTES,
  });
  return searchEntries;
}

async function findOneByOne(client, dns) {
  const found = await Promise.all(
    dns.map((dn) => client.search(dn, { scope: 'base', attributes: PERSON_ATTRIBUTES })),
  );
  return found.map(({ searchEntries }) => searchEntries[0]);
}

function uidOf(dn) {
  return dn.slice('uid='.length, dn.indexOf(','));
}
