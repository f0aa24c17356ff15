import { type Field, isSearched, storedName } from '../../common/field.js';
import { comparedName, filterTypeOf } from '../../database/fields/value-filters.js';

/** Name of a member of mapped values that is hashed but not stored: what else of the row is derived from custom fields. */
const DERIVED = 'derived values';

/** A change of the options of a field changes rows although the values stay the same, so the hash has to differ. */
export function derivedFrom(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const derived = fields.filter((field) => (values[storedName(field)] ?? null) !== null).flatMap(derivedOf);
  return derived.length === 0 ? {} : { [DERIVED]: derived.sort() };
}

function derivedOf(field: Field): string[] {
  const { name, column } = field;
  const isInSearch = column === null && isSearched(field);
  return [
    ...(isInSearch ? [`search ${name}`] : []),
    ...(filterTypeOf(field) === null ? [] : [`filter ${comparedName(field) ?? name}`]),
  ];
}
