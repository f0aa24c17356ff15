// A group with its first fifty members, asked of an LDAP server: every way in which a client might go about it.
import { SUFFIX } from '../../../test/support/servers/slapd.mjs';

const GROUP_ATTRIBUTES = ['displayName', 'member', 'owner', 'groupAdmin'];
const PERSON_ATTRIBUTES = ['uid', 'displayName', 'schoolYear'];
const FIRST = 50;

/** The group first, then its people: by one filter that names them all, or entry by entry. */
export const WAYS = {
  'one filter for all people': { findPeople: findByFilter, connections: 16 },
  'one filter, over four connections': { findPeople: findByFilter, connections: 4 },
  'each person on their own': { findPeople: findOneByOne, connections: 16 },
};

/** @param {import('ldapts').Client} client bound already */
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
