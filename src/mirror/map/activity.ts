import type { EntryMapping } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';

type Mapping = Pick<EntryMapping, 'disabled'>;

/** The mapping of a configuration does not change, and its filter is compiled once. */
const compiled = new WeakMap<object, (entry: Entry) => boolean>();

/** Whether an entry is active (pure): the filter `disabled` of the mapping does not match it. */
export function isActive(entry: Entry, mapping: Mapping): boolean {
  const { disabled } = mapping;
  if (disabled === null) return true;
  let isDisabled = compiled.get(mapping);
  if (isDisabled === undefined) {
    isDisabled = compileFilter(disabled);
    compiled.set(mapping, isDisabled);
  }
  return !isDisabled(entry);
}
