import type { Filter } from '../ldap/filter/filter-parser.js';
import type { ValueChange } from '../ldap/ldif/ldif-record.js';
import type { SourceValues } from '../mirror/map/snapshot.js';
import { type AuxiliaryClass, isSame } from './auxiliary-class.js';
import type { ChangedEntry, OriginalEntry } from './stored-entry.js';

/**
 * Builds the record that modifies an entry (pure). If the entry lacks the auxiliary class and receives an
 * attribute that requires it, the record adds the class.
 * @param entry with the source values after the changes
 */
export function modifyEntry(
  { dn, sourceValues }: OriginalEntry,
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
