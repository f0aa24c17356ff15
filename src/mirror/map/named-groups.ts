import { type MappedGroup, type MappedPerson, NAMED_AS_MEMBER, type Snapshot } from './snapshot.js';

// Users can name the groups that they belong to: in memberOf, and by the number of their primary group. Both are stored like
// the references of fields, under names that no field has.

/** Member of a mapped user: the keys of the groups that the entry names. */
export const NAMED_GROUPS = ':memberOf';
/** Member of a mapped group: the keys by which users name it, besides that of its DN. */
export const GROUP_KEYS = ':keys';

/** Returns every key by which users can name a group. */
export function keysOfGroup(group: MappedGroup): string[] {
  return [group.dnKey, ...((group[GROUP_KEYS] ?? []) as string[])];
}

export function groupsNamedBy(person: MappedPerson): readonly string[] {
  return (person[NAMED_GROUPS] ?? []) as string[];
}

/** The keys (keyOfDn) of users by the key of a group that they name. */
export type NamingUsers = Map<string, string[]>;

export function addNamingUser(naming: NamingUsers, group: string, user: string): void {
  const known = naming.get(group);
  if (known === undefined) naming.set(group, [user]);
  else known.push(user);
}

/** Adds the users who name the groups of a snapshot to their members (pure). */
export function withNamingUsers(snapshot: Snapshot, naming: NamingUsers): Snapshot {
  const groups = new Map([...snapshot.groups].map(([uuid, group]) => [uuid, withUsers(group, naming)]));
  return { ...snapshot, groups };
}

export function withUsers(group: MappedGroup, naming: NamingUsers): MappedGroup {
  const users = keysOfGroup(group).flatMap((key) => naming.get(key) ?? []);
  if (users.length === 0) return group;
  const references = new Map(group.references);
  for (const user of users) references.set(user, (references.get(user) ?? 0) | NAMED_AS_MEMBER);
  return { ...group, references };
}

export function namingUsersOf(people: Iterable<MappedPerson>): NamingUsers {
  const naming: NamingUsers = new Map();
  for (const person of people)
    for (const group of groupsNamedBy(person)) addNamingUser(naming, group, person.dnKey);
  return naming;
}
