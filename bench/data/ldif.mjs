// The directory as LDIF, for slapd.
import { SUFFIX } from '../../test/support/servers/slapd.mjs';

const PEOPLE = `
  select id, name, given_name, family_name, email, school_year from users order by key`;

/** Members in the order of pages, so that the LDAP client need not sort them. */
const GROUPS = `
  select g.id, g.name, g.named, g.owners, g.admins, nested.ids as nested from (
    select g.key, g.id, g.name, array_agg(u.id order by u.sort_name, u.key) as named,
      coalesce(array_agg(u.id) filter (where m.role = 3), '{}') as owners,
      coalesce(array_agg(u.id) filter (where m.role = 2), '{}') as admins
    from groups g left join memberships m on m.group_key = g.key left join users u on u.key = m.user_key
    group by g.key
  ) g left join lateral (
    select coalesce(array_agg(i.id), '{}') as ids
    from nestings n join groups i on i.key = n.inner_key where n.outer_key = g.key
  ) nested on true
  order by g.key`;

const personDn = (id) => `uid=${id},ou=people,${SUFFIX}`;
const groupDn = (id) => `cn=${id},ou=groups,${SUFFIX}`;
const encoded = (text) => Buffer.from(text).toString('base64');

/** @param {import('pg').Client} connection to a database with the filled tables of the service */
export async function buildLdif(connection) {
  const people = await connection.query(PEOPLE);
  const groups = await connection.query(GROUPS);
  return [...people.rows.map(personRecord), ...groups.rows.map(groupRecord)].join('\n');
}

function personRecord(person) {
  return [
    `dn: ${personDn(person.id)}`,
    'objectClass: inetOrgPerson',
    'objectClass: directoryPerson',
    `uid: ${person.id}`,
    `cn:: ${encoded(person.name)}`,
    `displayName:: ${encoded(person.name)}`,
    `givenName:: ${encoded(person.given_name)}`,
    `sn:: ${encoded(person.family_name)}`,
    `mail: ${person.email}`,
    ...(person.school_year === null ? [] : [`schoolYear: ${person.school_year}`]),
    '',
  ].join('\n');
}

function groupRecord(group) {
  const named = group.named.filter((id) => id !== null);
  return [
    `dn: ${groupDn(group.id)}`,
    'objectClass: groupOfNames',
    'objectClass: directoryGroup',
    `cn: ${group.id}`,
    `displayName: ${group.name}`,
    ...named.map((id) => `member: ${personDn(id)}`),
    ...group.nested.map((id) => `member: ${groupDn(id)}`),
    ...group.owners.map((id) => `owner: ${personDn(id)}`),
    ...group.admins.map((id) => `groupAdmin: ${personDn(id)}`),
    '',
  ].join('\n');
}
