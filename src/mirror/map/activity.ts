import type { EntryMapping } from '../../config/model/mapping.js';
import type { Entry } from '../../ldap/entry.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';
import { compileFilter } from '../../ldap/filter/filter.js';

type Mapping = Pick<EntryMapping, 'disabled'>;

interface Compiled {
  readonly isDisabled: (entry: Entry) => boolean;
  /** The attributes that the filter reads. */
  readonly attributes: readonly string[];
}

/** The mapping of a configuration does not change, and its filter is compiled once. */
const compiled = new WeakMap<object, Compiled>();

/** Whether an entry is active (pure): the filter `disabled` of the mapping does not match it. */
export function isActive(entry: Entry, mapping: Mapping): boolean {
  return compiledOf(mapping)?.isDisabled(entry) !== true;
}

/** Whether an entry lacks an attribute that the filter `disabled` of the mapping reads (pure). */
export function lacksAttributeOfDisabled(entry: Entry, mapping: Mapping): boolean {
  const attributes = compiledOf(mapping)?.attributes ?? [];
  return attributes.some((each) => entry.bytesOfSubtypes(each).length === 0);
}

function compiledOf(mapping: Mapping): Compiled | null {
  const { disabled } = mapping;
  if (disabled === null) return null;
  let known = compiled.get(mapping);
  if (known === undefined) {
    known = { isDisabled: compileFilter(disabled), attributes: attributesOfFilter(parseFilter(disabled)) };
    compiled.set(mapping, known);
  }
  return known;
}
