import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Writer } from '../../database/statements/statement.js';
import {
  GROUP_KEYS,
  groupsNamedBy,
  keysOfGroup,
  NAMED_GROUPS,
  type NamingUsers,
  withUsers,
} from '../map/named-groups.js';
import type { MappedGroup, MappedPerson } from '../map/snapshot.js';

/**
 * Adds the mirrored users who name groups to the members of these groups. Without attributes in which users name groups, it
 * reads nothing.
 */
export async function withStoredUsers(
  manager: Writer,
  { users }: DirectoryMapping,
  group: MappedGroup,
): Promise<MappedGroup> {
  if (users.memberOf === undefined) return group;
  return withUsers(group, await readNamingUsers(manager, [group], []));
}

/** @param except entryUUIDs of users to leave out */
export async function readNamingUsers(
  manager: Writer,
  groups: Iterable<MappedGroup>,
  except: readonly string[],
): Promise<NamingUsers> {
  const naming: NamingUsers = new Map();
  const keys = [...groups].flatMap(keysOfGroup);
  if (keys.length === 0) return naming;
  // A primary group can have all users: one text of their keys takes much less time than a row for each.
  const rows: { target: string; users: string }[] = await manager.query(
    `select r.target, string_agg(u.dn_key::text, ',') as users from user_references r join users u on u.key = r.from_key
     where r.field = $1 and r.target = any ($2::text[]) and u.entry_uuid <> all ($3::uuid[])
     group by r.target`,
    [NAMED_GROUPS, keys, except],
  );
  for (const { target, users } of rows) naming.set(target, users.split(','));
  return naming;
}

/**
 * Returns the entryUUIDs of the mirrored groups that users name, or do not name any more, unlike before. Groups store the DNs of
 * their members, so a user who is renamed names groups otherwise.
 * @param gone entryUUIDs of users who are deleted or no longer mirrored
 */
export async function findGroupsNamedOtherwise(
  manager: Writer,
  people: readonly MappedPerson[],
  gone: readonly string[],
): Promise<string[]> {
  const stored: { dnKey: string; target: string }[] = await manager.query(
    `select u.dn_key as "dnKey", r.target from user_references r join users u on u.key = r.from_key
     where r.field = $1 and u.entry_uuid = any ($2::uuid[])`,
    [NAMED_GROUPS, [...people.map(({ uuid }) => uuid), ...gone]],
  );
  const before = new Set(stored.map(({ dnKey, target }) => `${dnKey} ${target}`));
  const after = new Set(
    people.flatMap((person) => groupsNamedBy(person).map((key) => `${person.dnKey} ${key}`)),
  );
  const differing = [...before].filter((each) => !after.has(each));
  differing.push(...[...after].filter((each) => !before.has(each)));
  const keys = [...new Set(differing.map((each) => each.slice(each.indexOf(' ') + 1)))];
  if (keys.length === 0) return [];
  const groups: { uuid: string }[] = await manager.query(
    `select entry_uuid as uuid from groups where dn_key = any ($2::uuid[])
     union
     select g.entry_uuid from group_references r join groups g on g.key = r.from_key
     where r.field = $1 and r.target = any ($2::text[])`,
    [GROUP_KEYS, keys],
  );
  return groups.map(({ uuid }) => uuid);
}
