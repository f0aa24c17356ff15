import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ValueChange } from '../ldap/ldif/ldif-record.js';
import type { SourceValues } from '../mirror/map/snapshot.js';
import { type AuxiliaryClass, isSame } from './auxiliary-class.js';
import type { ChangedEntry, StoredEntry } from './stored-entry.js';

/**
 * Modifies an entry (pure). It is given the auxiliary class where it lacks it and gets an attribute that is only
 * allowed with it.
 * @param entry with the source values as the changes leave them
 */
export function modifyEntry(
  { dn, sourceValues }: StoredEntry,
  auxiliaryClass: AuxiliaryClass | null,
  changes: readonly ValueChange[],
  assertion?: Filter,
): ChangedEntry {
  const record = { dn, changetype: 'modify', ...(assertion !== undefined && { assertion }) } as const;
  if (auxiliaryClass === null || !needsClass(sourceValues, auxiliaryClass, changes)) {
    return { record: { ...record, changes }, sourceValues };
  }
  const addClass = { operation: 'add', attribute: 'objectClass', values: [auxiliaryClass.name] } as const;
  return {
    record: { ...record, changes: [addClass, ...changes] },
    sourceValues: withoutClasses(sourceValues),
  };
}

function needsClass(
  sourceValues: SourceValues | null,
  { attributes }: AuxiliaryClass,
  changes: readonly ValueChange[],
): boolean {
  const isMissing = sourceValues?.['objectclass'] !== undefined;
  return (
    isMissing &&
    changes.some(
      ({ operation, attribute }) => operation === 'add' && attributes.some((each) => isSame(each, attribute)),
    )
  );
}

function withoutClasses(sourceValues: SourceValues | null): SourceValues | null {
  const { objectclass, ...others } = sourceValues ?? {};
  return Object.keys(others).length === 0 ? null : others;
}
