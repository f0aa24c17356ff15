import { createHash } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import { BadUserInputError } from '../../common/errors.js';
import { type Field, type FieldDefinition, isList, pluralOf, storedName } from '../../common/field.js';
import { boundedList, foldAddress, foldId } from '../../common/identity.js';
import { prepareValue } from '../../common/match.js';
import type { Values } from '../statements/statement.js';
import { isInAudience } from '../visibility/conditions.js';
import { addressOf, type TableNames } from './object-table.js';
import { parseSearch, searchCondition } from './search-text.js';

/** The JSONB column with the values of fields that have no column of their own. */
export const FIELD_VALUES = 'field_values';

/** The input types of filters by the values of custom fields, by the type of the field. */
const FILTER_TYPES = {
  String: 'StringFilter',
  URL: 'StringFilter',
  Int: 'IntFilter',
  Float: 'FloatFilter',
  Boolean: 'BooleanFilter',
  DateTime: 'DateTimeFilter',
} as const;

export type FilterType = (typeof FILTER_TYPES)[keyof typeof FILTER_TYPES];

/** Maximum number of values of `in`. */
const MOST_VALUES = 100;
/** Number of code units of a value and of a text in a filter that are compared. */
export const COMPARED = 512;
/** Number of characters of a prepared text that an index holds. The size of an index entry is limited. */
const INDEXED = 128;
/** Separates them from the digest of the whole text. Prepared text contains no control characters. */
const SEPARATOR = '\u0001';
/** The last code point: greater than every character of prepared text. */
const LAST = '\u{10FFFF}';

/** The type of the filter by a field; null if lists are not filtered by its values. */
export function filterTypeOf(field: Pick<Field, 'type' | 'column' | 'isFilterable'>): FilterType | null {
  if (field.isFilterable !== true || field.column !== null || isList(field)) return null;
  return (FILTER_TYPES as Readonly<Record<string, FilterType>>)[field.type] ?? null;
}

/**
 * Name of the text by which values of a field are compared: of a column, or in JSONB, where it contains the rule, so that processes with
 * another one do not compare with it. Null: the field has none.
 */
export function comparedName(field: FieldDefinition): string | null {
  const { column, filter, match = 'caseIgnore' } = field;
  if (column !== null) return filter === undefined ? null : `${column}_compared`;
  return filter === undefined && filterTypeOf(field) !== 'StringFilter'
    ? null
    : `${storedName(field)} ${match}`;
}

/** Returns the text by which a value is compared. */
export function comparedText({ match = 'caseIgnore' }: Pick<FieldDefinition, 'match'>, text: string): string {
  const prepared = prepareValue(text.slice(0, COMPARED), match);
  const characters = [...prepared];
  if (characters.length <= INDEXED) return prepared;
  const digest = createHash('sha256').update(prepared).digest('base64url');
  return `${characters.slice(0, INDEXED).join('')}${SEPARATOR}${digest}`;
}

/** SQL that a filter compares and an index holds. `values` is the JSONB column. */
export function comparedSql(field: Field, values: string): string {
  const name = storedName(field);
  switch (filterTypeOf(field)) {
    case 'IntFilter':
      return `((${values} -> '${name}')::integer)`;
    case 'FloatFilter':
      return `((${values} -> '${name}')::float8)`;
    default:
      return `((${values} ->> '${comparedName(field) ?? name}') collate "C")`;
  }
}

type Compared = Readonly<Record<string, unknown>>;

/**
 * SQL conditions for the values of the fields that a filter has. The filter may have other members too.
 * @param alias the table of users or groups
 * @throws BadUserInputError if `in` has too many values
 */
export function valueConditions(
  fields: readonly Field[],
  filter: Compared,
  values: Values,
  alias: string,
): string[] {
  return fields.flatMap((field) => {
    const wanted = filter[field.name] as Compared | null | undefined;
    const type = filterTypeOf(field);
    if (type === null || wanted === undefined || wanted === null) return [];
    const conditions = CONDITIONS[type](comparedSql(field, `${alias}.field_values`), wanted, values, field);
    if (conditions.length === 0 || field.visibleTo === undefined) return conditions;
    return [...conditions, isInAudience(field.visibleTo, alias === 'g' ? 'group' : 'user', `${alias}.key`)];
  });
}

type Build = (sql: string, wanted: Compared, values: Values, field: Field) => string[];

const CONDITIONS: Readonly<Record<FilterType, Build>> = {
  StringFilter: (sql, { is, in: among, startsWith }, values, field) => [
    ...given(is, (text: string) => `${sql} = ${values.add(comparedText(field, text))}::text`),
    ...given(among, (texts: string[]) => {
      const compared = bounded(texts, field.name).map((text) => comparedText(field, text));
      return `${sql} = any (${values.add(compared)}::text[])`;
    }),
    ...given(startsWith, (text: string) => startsWithText(sql, text, values, field)),
  ],
  IntFilter: (sql, wanted, values, { name }) => comparisons(sql, INTEGERS, wanted, values, name),
  FloatFilter: (sql, wanted, values, { name }) => comparisons(sql, NUMBERS, wanted, values, name),
  BooleanFilter: (sql, { is }, values) =>
    given(is, (value: boolean) => `${sql} = ${values.add(String(value))}::text`),
  DateTimeFilter: (sql, { since, until }, values) =>
    between(sql, { ...INSTANTS, from: textOf(since), to: textOf(until) }, values),
};

/** A type in SQL, with its least and its greatest value. */
interface Ordered {
  readonly type: string;
  readonly least: unknown;
  readonly greatest: unknown;
}

const INTEGERS: Ordered = { type: 'integer', least: -(2 ** 31), greatest: 2 ** 31 - 1 };
const NUMBERS: Ordered = { type: 'float8', least: -Infinity, greatest: Infinity };
const INSTANTS: Ordered = {
  type: 'text',
  least: '0001-01-01T00:00:00.000Z',
  greatest: '9999-12-31T23:59:59.999Z',
};

function comparisons(
  sql: string,
  order: Ordered,
  { is, in: among, min, max }: Compared,
  values: Values,
  name: string,
): string[] {
  return [
    ...given(is, (value: number) => `${sql} = ${values.add(value)}::${order.type}`),
    ...given(among, (list: number[]) => `${sql} = any (${values.add(bounded(list, name))}::${order.type}[])`),
    ...between(sql, { ...order, from: min, to: max }, values),
  ];
}

/** Always with two bounds: the planner takes a range with one bound for a third of the table, and reads all of it. */
function between(
  sql: string,
  { type, least, greatest, from, to }: Ordered & { readonly from: unknown; readonly to: unknown },
  values: Values,
): string[] {
  if ((from ?? null) === null && (to ?? null) === null) return [];
  const [lower, upper] = [values.add(from ?? least), values.add(to ?? greatest)];
  return [`${sql} between ${lower}::${type} and ${upper}::${type}`];
}

/** As a range, because the plan of a prepared statement uses an index for LIKE only with a constant. */
function startsWithText(sql: string, text: string, values: Values, { name, match }: Field): string {
  const prefix = prepareValue(text.slice(0, COMPARED), match ?? 'caseIgnore', true);
  if ([...prefix].length > INDEXED)
    throw new BadUserInputError(`startsWith of ${name} has more than ${INDEXED} characters`, name);
  return `${sql} >= ${values.add(prefix)}::text and ${sql} < ${values.add(`${prefix}${LAST}`)}::text`;
}

/** An instant as it is stored. An offset can move an input out of the years with four digits. */
function textOf(instant: unknown): string | null {
  if (!(instant instanceof Date)) return null;
  const [earliest, latest] = [INSTANTS.least, INSTANTS.greatest].map((text) => Date.parse(String(text)));
  const time = Math.min(Math.max(instant.getTime(), earliest ?? -Infinity), latest ?? Infinity);
  return new Date(time).toISOString();
}

/** The values have the types of the schema. */
function given(value: unknown, conditionOf: (value: never) => string): string[] {
  return value === undefined || value === null ? [] : [conditionOf(value as never)];
}

function bounded<List extends readonly unknown[]>(list: List, name: string): List {
  if (list.length <= MOST_VALUES) return list;
  throw new BadUserInputError(`in of ${name} has more than ${MOST_VALUES} values`, name);
}

/** SQL for what the filter by a field compares, read from the table of users or groups with this alias. */
export function comparedSqlOf(field: Field, alias: string): string {
  const name = comparedName(field) ?? '';
  return field.column === null ? `${alias}.${FIELD_VALUES} ->> '${name}'` : `${alias}.${name}`;
}

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

/** Prefix of the names of indexes for the filters by custom fields. No other index has it. */
const PREFIX = 'values_of_';

export interface ValueIndex {
  /** Contains a hash of the definition, so an index with this name has this definition. */
  readonly name: string;
  readonly definition: string;
}

/** The indexes for the filters by custom fields. Each holds the values, and the objects with equal ones in the order of pages. */
export function valueIndexesOf(table: 'users' | 'groups', fields: readonly Field[]): ValueIndex[] {
  const filtered = fields.filter((field) => filterTypeOf(field) !== null);
  return filtered.map((field) => {
    const sql = comparedSql(field, FIELD_VALUES);
    const definition = `on ${table} (${sql}, sort_name, key) where ${sql} is not null`;
    const hash = createHash('sha256').update(definition).digest('hex').slice(0, 16);
    return { name: `${PREFIX}${table}_${hash}`, definition };
  });
}

/**
 * Creates the missing indexes and drops those that no field needs. An index that an interruption has left invalid is
 * created again. Only the leader calls this.
 */
export async function keepValueIndexes(
  runner: QueryRunner,
  wanted: readonly ValueIndex[],
  signal: AbortSignal,
): Promise<void> {
  const existing = (await runner.query(
    `select c.relname as name, i.indisvalid as "isValid"
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = to_regnamespace(current_schema()) and starts_with(c.relname::text, $1)`,
    [PREFIX],
  )) as { name: string; isValid: boolean }[];
  const kept = new Set(existing.filter(({ isValid }) => isValid).map(({ name }) => name));
  const names = new Set(wanted.map(({ name }) => name));
  for (const { name } of existing) {
    if (kept.has(name) && names.has(name)) continue;
    signal.throwIfAborted();
    await runner.query(`drop index concurrently if exists ${name}`);
  }
  const missing = wanted.filter(({ name }) => !kept.has(name));
  for (const { name, definition } of missing) {
    signal.throwIfAborted();
    await runner.query(`create index concurrently ${name} ${definition}`);
  }
  // The planner has no statistics of an expression before.
  if (missing.length > 0) await runner.query('analyze users, groups');
}
