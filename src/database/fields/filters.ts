import { createHash } from 'node:crypto';
import { BadUserInputError } from '../../common/errors.js';
import { type Field, type FieldDefinition, isList, storedName } from '../../common/field.js';
import { foldAddress, foldId } from '../../common/identity.js';
import { prepareValue } from '../../common/match.js';
import type { Values, Writer } from '../statements/statement.js';
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

type FilterType = (typeof FILTER_TYPES)[keyof typeof FILTER_TYPES];

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

/** Name of the text by which values are compared: of a column, or in JSONB with the rule. Null: the field has none. */
export function comparedName(field: FieldDefinition): string | null {
  const { column, filter, match = 'caseIgnore' } = field;
  if (column !== null) return filter === undefined ? null : `${column}_compared`;
  return filterTypeOf(field) === 'StringFilter' ? `${storedName(field)} ${match}` : null;
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
function comparedSql(field: Field, values: string): string {
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

/** SQL conditions for the fields by which a list is filtered. @throws BadUserInputError if a list of values is too long */
export function fieldConditions(
  fields: readonly Field[],
  filter: Compared,
  values: Values,
  alias: string,
): string[] {
  return fields.flatMap((field) => {
    const { name, visibleTo } = field;
    if (field.filter !== undefined) {
      // The expression of the index. No object has an empty value, and an absent value does not match an empty one.
      const sql = `coalesce(${alias}.${comparedName(field) ?? ''}, '')`;
      const plural = `${name}s`;
      const wanted = { is: filter[name], in: filter[plural] };
      return textConditions(sql, wanted, values, field, plural).map((each) => `${each} and ${sql} <> ''`);
    }
    const type = filterTypeOf(field);
    const wanted = filter[name] as Compared | null | undefined;
    if (type === null || !wanted) return [];
    const sql = comparedSql(field, `${alias}.field_values`);
    const conditions =
      type === 'StringFilter' || type === 'BooleanFilter'
        ? textConditions(sql, wanted, values, field)
        : orderedConditions(sql, type, wanted, values, name);
    if (conditions.length === 0 || visibleTo === undefined) return conditions;
    return [...conditions, isInAudience(visibleTo, alias === 'g' ? 'group' : 'user', `${alias}.key`)];
  });
}

const LONGEST_LIST = 100;

/** @throws BadUserInputError when the list is longer, before its elements are examined */
function boundedList<List extends readonly unknown[]>(list: List, argument: string): List {
  if (list.length <= LONGEST_LIST) return list;
  throw new BadUserInputError(`${argument} must have at most ${LONGEST_LIST} elements`, argument);
}

/** The values have the types of the schema. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function textConditions(
  sql: string,
  { is, in: among, startsWith }: Compared,
  values: Values,
  field: Field,
  listName = field.name,
): string[] {
  const conditions: string[] = [];
  if (isGiven(is)) conditions.push(`${sql} = ${values.add(comparedText(field, String(is)))}::text`);
  if (isGiven(among)) {
    const compared = boundedList(among as string[], listName).map((text) => comparedText(field, text));
    conditions.push(`${sql} = any (${values.add(compared)}::text[])`);
  }
  if (isGiven(startsWith)) {
    const prefix = prepareValue(String(startsWith).slice(0, COMPARED), field.match ?? 'caseIgnore', true);
    if ([...prefix].length > INDEXED)
      throw new BadUserInputError(`startsWith of ${listName} has more than ${INDEXED} characters`, listName);
    // A range, because the plan of a prepared statement uses an index for LIKE only with a constant.
    const [first, last] = [values.add(prefix), values.add(`${prefix}${LAST}`)];
    conditions.push(`${sql} >= ${first}::text and ${sql} < ${last}::text`);
  }
  return conditions;
}

/** The types of values that have an order in SQL, with their least and their greatest value. */
const ORDERED = {
  IntFilter: ['integer', -(2 ** 31), 2 ** 31 - 1],
  FloatFilter: ['float8', -Infinity, Infinity],
  DateTimeFilter: ['text', '0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
} as const;

function orderedConditions(
  sql: string,
  of: keyof typeof ORDERED,
  { is, in: among, min, max, since, until }: Compared,
  values: Values,
  name: string,
): string[] {
  const [type, least, greatest] = ORDERED[of];
  const [from, to] = [min ?? textOf(since), max ?? textOf(until)];
  const conditions: string[] = [];
  if (isGiven(is)) conditions.push(`${sql} = ${values.add(is)}::${type}`);
  if (isGiven(among))
    conditions.push(`${sql} = any (${values.add(boundedList(among as unknown[], name))}::${type}[])`);
  // Always with two bounds: the planner takes a range with one bound for a third of the table, and reads all of it.
  if (isGiven(from) || isGiven(to)) {
    const [lower, upper] = [values.add(from ?? least), values.add(to ?? greatest)];
    conditions.push(`${sql} between ${lower}::${type} and ${upper}::${type}`);
  }
  return conditions;
}

/** An instant as it is stored. An offset can move an input out of the years with four digits. */
function textOf(instant: unknown): string | null {
  if (!(instant instanceof Date)) return null;
  const [, least, greatest] = ORDERED.DateTimeFilter;
  const time = Math.max(instant.getTime(), Date.parse(least));
  return new Date(Math.min(time, Date.parse(greatest))).toISOString();
}

/** The members that the filters of users and groups share. */
interface ListFilter extends Readonly<Record<string, unknown>> {
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
  return [...conditions, ...fieldConditions(fields, filter, values, alias)];
}

/** Prefix of the names of indexes for the filters by custom fields. No other index has it. */
const PREFIX = 'values_of_';

/** Names and definitions of indexes. A name contains a hash of the definition. */
type ValueIndexes = ReadonlyMap<string, string>;

/** The indexes for the filters by custom fields. Each holds the values, and the objects with equal ones in the order of pages. */
export function valueIndexesOf(tables: Readonly<Record<'users' | 'groups', readonly Field[]>>): ValueIndexes {
  const indexes = Object.entries(tables).flatMap(([table, fields]) =>
    fields
      .filter((field) => filterTypeOf(field) !== null)
      .map((field): [string, string] => {
        const sql = comparedSql(field, FIELD_VALUES);
        const definition = `on ${table} (${sql}, sort_name, key) where ${sql} is not null`;
        const hash = createHash('sha256').update(definition).digest('hex').slice(0, 16);
        return [`${PREFIX}${table}_${hash}`, definition];
      }),
  );
  return new Map(indexes);
}

/** Creates the missing indexes and drops those that no field needs, or that an interruption has left invalid. */
export async function keepValueIndexes(writer: Writer, wanted: ValueIndexes): Promise<void> {
  const others = await writer.query<{ name: string }[]>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = to_regnamespace(current_schema()) and starts_with(c.relname::text, $1)
       and (not i.indisvalid or c.relname::text <> all ($2::text[]))`,
    [PREFIX, [...wanted.keys()]],
  );
  const statements = [
    // An index of 100,000 rows takes a second, but its creation waits for all older transactions.
    `set statement_timeout = '60s'`,
    ...others.map(({ name }) => `drop index concurrently if exists ${name}`),
    ...[...wanted].map(
      ([name, definition]) => `create index concurrently if not exists ${name} ${definition}`,
    ),
    // The planner has no statistics of an expression before.
    ...(wanted.size > 0 ? ['analyze users, groups'] : []),
  ];
  try {
    for (const statement of statements) await writer.query(statement);
  } finally {
    await writer.query('set statement_timeout = 0').catch(() => undefined);
  }
}
