import type { Field } from '../../common/field.js';
import { asLabel, foldSearch } from '../../common/fold.js';
import { searchCondition } from '../paging/search-condition.js';
import type { Values } from '../statements/values.js';
import { sqlOfField } from './field-columns.js';
import type { TableNames } from './object-table.js';

/**
 * Builds the SQL conditions for the fields by which a list is filtered.
 * @param filter the input, which may have other members too
 * @param conditionOf returns SQL for one field and the placeholder of its value
 */
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

/**
 * Builds the conditions that filters of users and groups share: a search by name or id, and equality of
 * fields.
 */
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
  return [...searched, ...fieldConditions(fields, filter, values, equals)];
}
