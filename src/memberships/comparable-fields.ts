import type { Field } from '../common/field.js';
import { foldAddress, foldId, isUuid } from '../common/identity.js';
import { fieldConditions, filterTypeOf } from '../database/fields/filters.js';
import type { TableNames } from '../database/fields/object-table.js';
import type { OrderColumn } from '../database/paging/page.js';
import type { Values } from '../database/statements/statement.js';

/** A value by which lists are filtered with any operator, and ordered. */
export interface Comparable {
  readonly type: 'string' | 'boolean' | 'number' | 'dateTime';
  /** SQL of the value, null if there is none, and of what is compared with it. */
  readonly sql: string;
  readonly bind: (given: string, values: Values) => string;
  /** A condition for `eq` or `sw` that an index answers. Undefined: there is none. */
  readonly quick?: (operator: string, given: string, values: Values) => string | undefined;
  /** The rows with one value each, if there are several. */
  readonly among?: string;
  /** The column that orders, with an index. Default: the value. */
  readonly order?: OrderColumn;
}

export function exact(sql: string, type: Comparable['type'] = 'string', cast = 'text'): Comparable {
  return { type, sql, bind: (given, values) => `${values.add(given)}::${cast}` };
}

function text(sql: string): Comparable {
  const bind: Comparable['bind'] = (given, values) => `lower(${values.add(given)}::text)`;
  return { ...exact(`(lower(${sql}) collate "C")`), bind };
}

/** A text with an index of its folded form in the order of bytes, which plans of prepared statements use for ranges only. */
function indexed(sql: string, fold: (given: string) => string): Comparable {
  const bind = (given: string, values: Values) => `${values.add(fold(given))}::text`;
  const rangeOf = (given: string, values: Values) =>
    `${sql} >= ${bind(given, values)} and ${sql} < ${bind(`${given}\u{10FFFF}`, values)}`;
  return { ...exact(sql), bind, quick: (by, ...given) => (by === 'sw' ? rangeOf(...given) : undefined) };
}

function uuid(sql: string): Comparable {
  const equal = (id: string, values: Values) => (isUuid(id) ? `${sql} = ${values.add(id)}::uuid` : 'false');
  return { ...exact(`${sql}::text`), quick: (by, ...given) => (by === 'eq' ? equal(...given) : undefined) };
}

/** Null for a field by which lists are not filtered. */
function custom(field: Field, sql: string, alias: TableNames['alias']): Comparable | null {
  const type = filterTypeOf(field);
  if (type === null && field.filter === undefined) return null;
  if (type === 'BooleanFilter') return exact(sql, 'boolean', 'boolean');
  if (type === 'DateTimeFilter') return exact(sql, 'dateTime');
  if (type === 'IntFilter' || type === 'FloatFilter') return exact(`(${sql})::float8`, 'number', 'float8');
  const quick: Comparable['quick'] = (by, given, values) => {
    if (by !== 'eq' && (by !== 'sw' || type === null || given.length > 128)) return undefined;
    const wanted = by === 'sw' ? { startsWith: given } : type === null ? given : { is: given };
    return fieldConditions([field], { [field.name]: wanted }, values, alias).join(' and ');
  };
  return { ...(field.match === 'caseExact' ? exact(`(${sql} collate "C")`) : text(sql)), quick };
}

const ACTIVE = { active: exact('u.is_active', 'boolean', 'boolean') };
type Columns = Readonly<Record<string, string>>;
type Comparables = Readonly<Record<string, Comparable | null>>;

/** By the names of fields, and of parts of memberships. @param sql of the fields as the viewer sees them */
export function comparableFields({ alias }: TableNames, fields: readonly Field[], sql: Columns): Comparables {
  const [others, ofOther, own] = alias === 'u' ? ['groups', 'group', 'user'] : ['users', 'user', 'group'];
  const isShown = alias === 'u' ? '' : ' and g.members_visible_to = 0';
  const join = `join ${others} o on o.key = m.${ofOther}_key where m.${own}_key = ${alias}.key${isShown}`;
  const by = (column: string, type: OrderColumn['type'] = 'text') => ({ order: { sql: column, type } });
  const time = (at: string) => ({ ...exact(at, 'dateTime', 'timestamptz'), ...by(at, 'timestamp') });
  const { givenName = 'null', familyName = 'null', email = 'null' } = sql;
  return {
    ...Object.fromEntries(fields.map((each) => [each.name, custom(each, sql[each.name] ?? '', alias)])),
    ...(alias === 'u' && { givenName: text(givenName), familyName: text(familyName), ...ACTIVE }),
    ...{ createdAt: time(`${alias}.created_at`), updatedAt: time(`${alias}.updated_at`) },
    ...{ entryUuid: uuid(`${alias}.entry_uuid`), email: indexed(`lower(${email} collate "C")`, foldAddress) },
    id: { ...indexed(`${alias}.id_folded`, foldId), ...by(`${alias}.id_folded`) },
    name: { ...text(`${alias}.name`), ...by(`${alias}.sort_name`) },
    'email.use': text(`case when ${email} is not null then 'work' end`),
    'membership.uuid': { ...uuid('o.entry_uuid'), among: `effective_memberships m ${join}` },
  };
}
