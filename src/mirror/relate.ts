import { foldId } from '../common/fold.js';
import { InvalidDnError, normaliseDn } from '../ldap/dn.js';
import type { MappedGroup, Person, Quarantined, Rank, RelatedGroup, Snapshot } from './snapshot.js';

/**
 * Looks up the DNs that groups name, and puts aside entries that cannot both be right (pure).
 * @param quarantined what was put aside before
 */
export function relate(
  people: readonly Person[],
  groups: readonly MappedGroup[],
  quarantined: readonly Quarantined[],
): Snapshot {
  const aside = [...quarantined];
  const keptPeople = withoutDuplicates(people, aside);
  const keptGroups = withoutDuplicates(groups, aside);
  const peopleByDn = byDn(keptPeople);
  const groupsByDn = byDn(keptGroups);
  const skipped = { dangling: 0, placeholders: 0, cyclic: 0 };

  const related = keptGroups.map(({ references, ...group }): RelatedGroup => {
    const members = new Map<string, Rank>();
    const nested = new Map<string, Rank>();
    for (const { dn, rank } of references) {
      const key = normaliseQuietly(dn);
      const person = key === null ? undefined : peopleByDn.get(key);
      const inner = key === null ? undefined : groupsByDn.get(key);
      if (person !== undefined) raise(members, person, rank);
      else if (inner === group.uuid) skipped.placeholders++;
      else if (inner !== undefined) raise(nested, inner, rank);
      else skipped.dangling++;
    }
    return { ...group, members, nested };
  });
  skipped.cyclic = countCyclic(related);

  return {
    people: new Map(keptPeople.map((person) => [person.uuid, person])),
    groups: new Map(related.map((group) => [group.uuid, group])),
    quarantined: aside,
    skipped,
  };
}

/** Named by several attributes, the highest role counts. */
function raise(roles: Map<string, Rank>, uuid: string, rank: Rank): void {
  const held = roles.get(uuid);
  if (held === undefined || rank > held) roles.set(uuid, rank);
}

/** Of entries with one id or one entryUUID, none is known to be the right one: all of them are put aside. */
function withoutDuplicates<Each extends { uuid: string; id: string; dn: string }>(
  entries: readonly Each[],
  aside: Quarantined[],
): Each[] {
  const uuids = countBy(entries, ({ uuid }) => uuid);
  const ids = countBy(entries, ({ id }) => foldId(id));
  return entries.filter((entry) => {
    const duplicate =
      (uuids.get(entry.uuid) ?? 0) > 1 ? 'entryUUID' : (ids.get(foldId(entry.id)) ?? 0) > 1 ? 'id' : null;
    if (duplicate === null) return true;
    aside.push({ dn: entry.dn, attribute: null, reason: `has the same ${duplicate} as another entry` });
    return false;
  });
}

function countBy<Each>(entries: readonly Each[], keyOf: (entry: Each) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(keyOf(entry), (counts.get(keyOf(entry)) ?? 0) + 1);
  return counts;
}

function byDn(entries: readonly { uuid: string; dn: string }[]): Map<string, string> {
  return new Map(
    entries.flatMap(({ uuid, dn }) => (normaliseQuietly(dn) === null ? [] : [[normaliseDn(dn), uuid]])),
  );
}

/** A value that is no DN names nothing. */
function normaliseQuietly(dn: string): string | null {
  try {
    return normaliseDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return null;
    throw error;
  }
}

/** Groups that can be reached from themselves: those in strongly connected components of more than one (Tarjan). */
function countCyclic(groups: readonly RelatedGroup[]): number {
  const nested = new Map(groups.map((group) => [group.uuid, [...group.nested.keys()]]));
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  let cyclic = 0;

  for (const { uuid: root } of groups) {
    if (order.has(root)) continue;
    // An explicit stack: a chain of groups may be deeper than the call stack.
    const visits = [{ group: root, next: 0 }];
    while (visits.length > 0) {
      const visit = visits[visits.length - 1];
      if (visit === undefined) break;
      const { group } = visit;
      if (visit.next === 0) {
        order.set(group, order.size);
        low.set(group, order.size - 1);
        open.push(group);
        isOpen.add(group);
      }
      const inner = nested.get(group)?.[visit.next++];
      if (inner !== undefined) {
        if (!order.has(inner)) visits.push({ group: inner, next: 0 });
        else if (isOpen.has(inner)) lower(low, group, order.get(inner));
        continue;
      }
      visits.pop();
      const outer = visits[visits.length - 1];
      if (outer !== undefined) lower(low, outer.group, low.get(group));
      if (low.get(group) !== order.get(group)) continue;
      const component = open.splice(open.indexOf(group));
      component.forEach((member) => isOpen.delete(member));
      if (component.length > 1) cyclic += component.length;
    }
  }
  return cyclic;
}

function lower(low: Map<string, number>, group: string, candidate: number | undefined): void {
  low.set(group, Math.min(low.get(group) ?? Infinity, candidate ?? Infinity));
}
