import type { Entry } from '../../ldap/entry.js';
import type { EntryKind } from '../../sources/directory.js';

/** Object classes of each kind. The first that an entry has selects it. */
const CLASSES: Readonly<Record<EntryKind, readonly string[]>> = {
  person: ['inetOrgPerson', 'user', 'posixAccount', 'organizationalPerson', 'person'],
  group: [
    ...['groupOfNames', 'groupOfUniqueNames', 'groupOfMembers', 'groupOfEntries', 'group', 'posixGroup'],
    ...['univentionGroup', 'groupOfURLs'],
  ],
};
/** Object classes whose entries have one of the classes of people and are none: computers of Active Directory. */
const NO_PEOPLE: readonly string[] = ['computer'];

/**
 * A filter that finds the entries of a kind on any server, and others. It has no negation, because that of a class that
 * the server does not know matches nothing (RFC 4511 §4.5.1.7).
 */
export function filterOfKind(kind: EntryKind): string {
  return anyOf(CLASSES[kind]);
}

/** The kind of an entry by its object classes (pure). Null: neither. */
export function kindOf(entry: Entry): EntryKind | null {
  const classes = classesOf(entry);
  const has = (names: readonly string[]) => names.some((name) => classes.has(name.toLowerCase()));
  if (has(CLASSES.group)) return 'group';
  return has(CLASSES.person) && !has(NO_PEOPLE) ? 'person' : null;
}

/** The shortest filter by object classes that selects all entries (pure). */
export function filterOf(kind: EntryKind, entries: readonly Entry[]): string {
  const needed = new Set<string>();
  for (const entry of entries) {
    const classes = classesOf(entry);
    const names = CLASSES[kind].filter((each) => classes.has(each.toLowerCase()));
    if (names[0] !== undefined && !names.some((name) => needed.has(name))) needed.add(names[0]);
  }
  const [first = CLASSES[kind][0] ?? '', ...others] = needed;
  const filter = others.length === 0 ? `(objectClass=${first})` : anyOf([first, ...others]);
  const hasComputers = entries.some((entry) => entry.bytes('sAMAccountType').length > 0);
  return needed.has('user') && hasComputers ? `(&${filter}${without(NO_PEOPLE)})` : filter;
}

/** The object classes that most groups have, without `top`, as a new group gets them (pure). */
export function usualClasses(entries: readonly Entry[]): string[] {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    const classes = entry.text('objectClass').filter((name) => /^[A-Za-z][A-Za-z0-9-]*$/.test(name));
    const named = classes.filter((name) => name.toLowerCase() !== 'top').join(' ');
    counts.set(named, (counts.get(named) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, left], [, right]) => right - left);
  return (most?.[0] ?? '')
    .split(' ')
    .filter((name) => name !== '')
    .slice(0, 20);
}

function classesOf(entry: Entry): Set<string> {
  return new Set(entry.text('objectClass').map((name) => name.toLowerCase()));
}

function anyOf(names: readonly string[]): string {
  return `(|${names.map((name) => `(objectClass=${name})`).join('')})`;
}

function without(names: readonly string[]): string {
  return names.map((name) => `(!(objectClass=${name}))`).join('');
}
