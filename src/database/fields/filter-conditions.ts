import type { Field } from '../../common/field.js';
import { asLabel, foldSearch, fold } from '../../common/fold.js';
import type { Values } from '../statements/statement.js';
import { sqlOfField } from './field-columns.js';
import type { TableNames } from './object-table.js';
import { valueConditions } from './value-filters.js';

/** The conditions for the fields by which a list is filtered. The filter may have other members too. */
export function fieldConditions(
  fields: readonly Field[],
  filter: Readonly<Record<string, unknown>>,
  values: Values,
  conditionOf: (field: Field, placeholder: string) => string,
): string[] {
  return fields.flatMap((field) => {
    const wanted = filter[field.name];
    if (field.filter === undefined || typeof wanted !== 'string') return [];
    return [conditionOf(field, `${values.add(asLabel(wanted))}::text`)];
  });
}

/** The conditions that filters of users and groups share: search, and equality of fields. */
export function listConditions(
  { alias }: Pick<TableNames, 'alias'>,
  filter: Readonly<Record<string, unknown>>,
  fields: readonly Field[],
  values: Values,
): string[] {
  const { search } = filter;
  const searched =
    typeof search === 'string' ? [searchCondition(alias, foldSearch(search, 'search'), values)] : [];
  // The left side matches the expression of the index. No object has an empty value, and an absent value does
  // not match an empty one.
  const equals = (field: Field, value: string) =>
    `coalesce(${sqlOfField(field, alias)}, '') = nullif(${value}, '')`;
  return [
    ...searched,
    ...fieldConditions(fields, filter, values, equals),
    ...valueConditions(fields, filter, values, alias),
  ];
}

/**
 * SQL condition for rows whose id or name contains the folded text. Trigrams find three and more characters;
 * shorter texts are found by pairs of characters.
 */
export function searchCondition(table: string, folded: string, values: Values): string {
  const length = [...folded].length;
  if (length === 0) return 'false';
  if (length === 1) return `${table}.search_pairs @> array[${values.add(` ${folded}`)}::text]`;
  if (length === 2) return `${table}.search_pairs @> array[${values.add(folded)}::text]`;
  return `${table}.search_text like ${values.add(`%${escapeLike(folded)}%`)}::text`;
}

/** Escapes all wildcards: user input is never a pattern. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** Returns the text that searches match: the folded values, each preceded by a space. */
export function searchText(values: readonly string[]): string {
  return values.map((value) => ` ${fold(value).trim()}`).join('');
}

export function searchPairs(text: string): string[] {
  const characters = [...text];
  return [
    ...new Set(characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`)),
  ];
}
