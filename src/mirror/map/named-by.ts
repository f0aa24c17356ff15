import { type DirectoryMapping, formsOf, NAMED_BY, type NamedBy } from '../../config/model/mapping.js';
import { type Identified, keyOfEntry } from '../../sources/references.js';
import type { EntryKind } from '../../sources/source.js';

/** A sum of roles: 1 member, 2 admin, 4 owner. */
export type RoleSum = number;

/**
 * The attributes of a group that name an entry, as a sum: their roles, where they name it by DN; by id eight times as much, and by
 * entryUUID eight times as much as by id.
 */
export type NamedAs = number;

export const NAMED_AS_MEMBER = 1;
export const NAMED_AS_ADMIN = 2;
export const NAMED_AS_OWNER = 4;
const NAMED_AS_EACH = NAMED_AS_MEMBER | NAMED_AS_ADMIN | NAMED_AS_OWNER;

const FACTORS: Readonly<Record<NamedBy, number>> = { dn: 1, id: 8, uuid: 64 };

/** The attributes of roles that name entries in one way. */
export function namedBy(by: NamedBy, roles: RoleSum): NamedAs {
  return roles * FACTORS[by];
}

/** The attributes of roles that name entries in any way. */
export function namedByAny(roles: RoleSum): NamedAs {
  return NAMED_BY.reduce((sum, by) => sum | namedBy(by, roles), 0);
}

export const NAMED_AS_ANYTHING = namedByAny(NAMED_AS_EACH);

export function rolesOfNaming(namedAs: NamedAs): RoleSum {
  return NAMED_BY.reduce((sum, by) => sum | (Math.floor(namedAs / FACTORS[by]) & NAMED_AS_EACH), 0);
}

/** Returns the rank of the highest of the roles that an entry is named for: 1 member, 2 admin, 3 owner. */
export function rankOfNaming(namedAs: NamedAs): 1 | 2 | 3 {
  const roles = rolesOfNaming(namedAs);
  return roles >= NAMED_AS_OWNER ? 3 : roles >= NAMED_AS_ADMIN ? 2 : 1;
}

/** The ways in which groups of a directory name entries. */
export function waysOfNaming(groups: DirectoryMapping['groups']): NamedBy[] {
  const forms = formsOf(groups);
  return NAMED_BY.filter((by) => forms.some((form) => form.by === by));
}

/** The keys (referenceKeyOf) by which groups name an entry in some ways. */
export function keysOfEntry(kind: EntryKind, entry: Identified, ways: readonly NamedBy[]): string[] {
  return ways.flatMap((by) => keyOfEntry(by, kind, entry) ?? []);
}
