import { type Field, pluralOf } from '../../common/field.js';
import { boundedList, foldAddress, foldId } from '../../common/identity.js';
import type { Values } from '../statements/statement.js';
import { comparedSqlOf } from './field-columns.js';
import { isInAudience } from '../visibility/conditions.js';
import { parseSearch, searchCondition } from './search-text.js';
import { addressOf, type TableNames } from './object-table.js';
import { comparedText, valueConditions } from './value-filters.js';

/**
 * The conditions for the fields by which a list is filtered. The filter may have other members too. No object has an empty
 * value, and an absent value does not match an empty one.
 * @param conditionOf returns the condition that what the field is compared by equals an SQL expression
 * @throws BadUserInputError when a list of values is too long
 */
export function fieldConditions(
  fields: readonly Field[],
  filter: Readonly<Record<string, unknown>>,
  values: Values,
  conditionOf: (field: Field, value: string) => string,
): string[] {
  return fields.flatMap((field) => {
    if (field.filter === undefined) return [];
    const plural = pluralOf(field.name);
    const { [field.name]: wanted, [plural]: several } = filter;
    return [
      ...(typeof wanted === 'string'
        ? [conditionOf(field, `nullif(${values.add(comparedText(field, wanted))}::text, '')`)]
        : []),
      ...(Array.isArray(several)
        ? [conditionOf(field, anyOf(field, boundedList(several as string[], plural), values))]
        : []),
    ];
  });
}

function anyOf(field: Field, wanted: readonly string[], values: Values): string {
  const texts = wanted.map((text) => comparedText(field, text));
  return `any (${values.add(texts.filter((text) => text !== ''))}::text[])`;
}

/** The members that the filters of users and groups share. */
export interface ListFilter extends Readonly<Record<string, unknown>> {
  readonly search?: string | null;
  readonly ids?: string[] | null;
  readonly emails?: string[] | null;
  readonly updatedSince?: Date | null;
}

/** @throws BadUserInputError when a list is too long */
export function listConditions(
  { alias, noun }: Pick<TableNames, 'alias' | 'noun'>,
  filter: ListFilter,
  fields: readonly Field[],
  values: Values,
): string[] {
  const { search, ids, emails, updatedSince } = filter;
  const conditions: string[] = [];
  if (ids) {
    const folded = values.add(boundedList(ids, 'ids').map(foldId));
    conditions.push(`${alias}.id_folded = any (${folded}::text[])`);
  }
  if (emails) {
    const addresses = values.add(boundedList(emails, 'emails').map(foldAddress));
    const audience = fields.find(({ name }) => name === 'email')?.visibleTo;
    conditions.push(`${addressOf(alias)} = any (${addresses}::text[])`);
    if (audience !== undefined) conditions.push(isInAudience(audience, noun, `${alias}.key`));
  }
  if (updatedSince) conditions.push(`${alias}.updated_at >= ${values.add(updatedSince)}::timestamptz`);
  if (typeof search === 'string')
    conditions.push(searchCondition(alias, parseSearch(search, 'search'), values));
  // The left side matches the expression of the index.
  const equals = (field: Field, value: string) => `coalesce(${comparedSqlOf(field, alias)}, '') = ${value}`;
  return [
    ...conditions,
    ...fieldConditions(fields, filter, values, equals),
    ...valueConditions(fields, filter, values, alias),
  ];
}
