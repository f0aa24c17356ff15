import { type Field, isSearched, storedName } from '../../common/field.js';
import { COMPARED, comparedName, comparedText, filterTypeOf } from '../../database/fields/value-filters.js';
import type { MappedPerson } from './snapshot.js';

type Values = Readonly<Record<string, unknown>>;

/** Name of a member of mapped values that is hashed but not stored: what else of the row is derived from custom fields. */
const DERIVED = 'derived values';

/** A change of the options of a field changes rows although the values stay the same, so the hash has to differ. */
export function derivedFrom(fields: readonly Field[], values: Values): Values {
  const derived = fields
    .filter((field) => (values[storedName(field)] ?? null) !== null)
    .flatMap((field) => [
      ...(field.column === null && isSearched(field) ? [`search ${field.name}`] : []),
      ...(filterTypeOf(field) === null ? [] : [`filter ${comparedName(field) ?? field.name}`]),
    ]);
  return derived.length === 0 ? {} : { [DERIVED]: derived.sort() };
}

/** Returns an entry with texts as they are compared: all spellings of a value have one form. Source values have the spelling. */
export function withoutSpelling(fields: readonly Field[], entry: MappedPerson): MappedPerson {
  const compared = fields.filter((field) => comparedName(field) !== null);
  const texts = compared.map((field) => {
    const text = (entry[storedName(field)] ?? null) as string | null;
    return [storedName(field), text && comparedText(field, text) + text.slice(COMPARED)];
  });
  const attributes = compared.flatMap((field) => field.attributes.map((name) => name.toLowerCase()));
  const source = Object.entries(entry.sourceValues ?? {}).filter(([name]) => !attributes.includes(name));
  const sourceValues = source.length === 0 ? null : Object.fromEntries(source);
  return { ...entry, ...Object.fromEntries(texts), sourceValues } as MappedPerson;
}
