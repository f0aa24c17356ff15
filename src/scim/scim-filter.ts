import { type Filter, parse } from 'scim2-parse-filter';
import type { Field } from '../common/field.js';
import { fold } from '../common/fold.js';
import { foldAddress, foldId, isUuid } from '../common/identity.js';
import { fieldConditions, filterTypeOf } from '../database/fields/filters.js';
import type { OrderColumn } from '../database/paging/page.js';
import type { Values } from '../database/statements/statement.js';
import { isInAudience } from '../database/visibility/conditions.js';
import { CORE, enterpriseForm, type Kind, type ResourceType } from './scim-schemas.js';
import { ScimError } from './scim-error.js';

/** The longest filter in characters, and the most parentheses, negations and comparisons in one. */
const LONGEST = 4000;
const MOST_NESTED = 50;
const MOST_COMPARISONS = 50;
/** The last code point: greater than every character. */
const LAST = '\u{10FFFF}';
/** Characters of the folded text of which the mirror orders names by more. */
const FOLDED_PREFIX = 50;

/** SQL for a value of a filter. */
type Bind = (text: string, values: Values) => string;

/** An attribute by which lists are filtered and ordered. */
export interface Comparable {
  readonly type: 'string' | 'boolean' | 'number' | 'dateTime';
  /** SQL of the value, in the form in which it is compared. Null if there is none. */
  readonly sql: string;
  readonly bind: Bind;
  /** Conditions that an index answers, in place of those with `sql`. Undefined for a text for which there is none. */
  readonly equals?: (text: string, values: Values) => string | undefined;
  readonly startsWith?: (text: string, values: Values) => string | undefined;
  /** SQL condition: the viewer sees the value. */
  readonly audience?: string;
  /** The rows with one value each, of a multi-valued attribute. */
  readonly among?: string;
  /** The columns of the order, without the key. Default: the value, which no index has. */
  readonly order?: readonly OrderColumn[];
}

/** The attributes that filters and orders can name, by their paths in lower case. */
export type Comparables = ReadonlyMap<string, Comparable>;

const asText: Bind = (text, values) => `${values.add(text)}::text`;
const asLower: Bind = (text, values) => `lower(${values.add(text)}::text)`;

function exactText(sql: string): Comparable {
  return { type: 'string', sql, bind: asText };
}

function text(sql: string): Comparable {
  return { type: 'string', sql: `lower(${sql})`, bind: asLower };
}

/** A text whose folded form has an index in the order of bytes. */
function indexedText(sql: string, foldText: (text: string) => string): Comparable {
  const bind: Bind = (given, values) => asText(foldText(given), values);
  return {
    ...{ type: 'string', sql, bind },
    equals: (given, values) => `${sql} = ${bind(given, values)}`,
    startsWith: (given, values) => rangeOf(sql, foldText(given), values),
  };
}

/** A range, because the plan of a prepared statement uses an index for LIKE only with a constant. */
function rangeOf(sql: string, prefix: string, values: Values): string {
  return `${sql} >= ${asText(prefix, values)} and ${sql} < ${asText(`${prefix}${LAST}`, values)}`;
}

/** A name. Its folded form, which also ignores accents, has the index that finds those among which is the same name. */
function nameText(sql: string, foldedColumn: string): Comparable {
  return {
    ...text(sql),
    equals: (given, values) => {
      const prefix = [...fold(given.slice(0, FOLDED_PREFIX)).trim()].slice(0, FOLDED_PREFIX / 2).join('');
      return `${rangeOf(foldedColumn, prefix, values)} and lower(${sql}) = ${asLower(given, values)}`;
    },
  };
}

function instant(sql: string): Comparable {
  const bind: Bind = (given, values) => `${values.add(given)}::timestamptz`;
  return { type: 'dateTime', sql, bind, order: [{ sql, type: 'timestamp' }] };
}

/** What users or groups are filtered and ordered by. @param columns SQL of the fields, as the viewer sees them */
export function comparablesOf(type: ResourceType, columns: Readonly<Record<string, string>>): Comparables {
  const { kind, fields, extensions } = type;
  const [alias, noun] = kind === 'User' ? (['u', 'user'] as const) : (['g', 'group'] as const);
  const found = new Map<string, Comparable>();
  const add = (path: string, field: string | null, comparable: Comparable) => {
    const audience = fields.get(field ?? '')?.visibleTo;
    const condition = audience && { audience: isInAudience(audience, noun, `${alias}.key`) };
    if (field === null || fields.has(field)) found.set(path, { ...comparable, ...condition });
  };
  add('id', null, {
    ...exactText(`${alias}.entry_uuid::text`),
    equals: (id, values) => (isUuid(id) ? `${alias}.entry_uuid = ${values.add(id)}::uuid` : 'false'),
  });
  const byName: OrderColumn[] = [{ sql: `${alias}.sort_name`, type: 'text' }];
  const name = { ...nameText(`${alias}.name`, `${alias}.sort_name`), order: byName };
  add('displayname', 'name', name);
  add('meta.created', 'createdAt', instant(`${alias}.created_at`));
  add('meta.lastmodified', 'updatedAt', instant(`${alias}.updated_at`));
  const byId: OrderColumn[] = [{ sql: `${alias}.id_folded`, type: 'text' }];
  const id = { ...indexedText(`${alias}.id_folded`, foldId), order: byId };
  if (kind === 'User') {
    add('username', 'id', id);
    add('name.formatted', 'name', name);
    add('name.familyname', 'familyName', nameText('u.family_name', 'u.family_sort_name'));
    add('name.givenname', 'givenName', text('u.given_name'));
    add('emails.value', 'email', indexedText('lower(u.email collate "C")', foldAddress));
    add('emails.type', 'email', text(`case when u.email is not null then 'work' end`));
    add('emails.primary', 'email', {
      ...text('u.email is not null'),
      type: 'boolean',
      sql: '(u.email is not null or null)',
    });
    add('active', 'active', { ...exactText('u.is_active'), type: 'boolean' });
    addMany(
      found,
      'groups',
      'effective_memberships m join groups g on g.key = m.group_key where m.user_key = u.key',
      {
        value: ofUuid('g.entry_uuid'),
        display: text('g.name'),
        type: text(`case when m.direct_role is null then 'indirect' else 'direct' end`),
      },
    );
  } else {
    addMany(
      found,
      'members',
      'effective_memberships m join users u on u.key = m.user_key where m.group_key = g.key and g.members_visible_to = 0',
      {
        value: ofUuid('u.entry_uuid'),
        display: text('u.name'),
      },
    );
  }
  for (const [urn, extended] of extensions)
    for (const field of extended) {
      const path = `${urn}:${field.name}`.toLowerCase();
      const isId = kind === 'Group' && field.name === 'id';
      const comparable = isId ? id : customComparable(type, field, columns[field.name] ?? 'null', alias);
      if (comparable !== null) found.set(path, comparable);
    }
  return found;
}

function ofUuid(sql: string): Comparable {
  return {
    ...exactText(`${sql}::text`),
    equals: (id, values) => (isUuid(id) ? `${sql} = ${values.add(id)}::uuid` : 'false'),
  };
}

function addMany(
  found: Map<string, Comparable>,
  name: string,
  among: string,
  parts: Readonly<Record<string, Comparable>>,
): void {
  for (const [part, comparable] of Object.entries(parts))
    found.set(`${name}.${part}`, { ...comparable, among });
}

/** A filterable field, with the conditions and indexes that lists have for it; null for another one. */
function customComparable(
  { kind }: ResourceType,
  field: Field,
  sql: string,
  alias: 'u' | 'g',
): Comparable | null {
  const { name, filter, visibleTo, match } = field;
  const type = filterTypeOf(field);
  if (type === null && filter === undefined) return null;
  const conditions = (wanted: unknown, values: Values) =>
    fieldConditions([field], { [name]: wanted }, values, alias).join(' and ');
  if (enterpriseForm(kind, field) === 'manager') return null;
  if (type === 'IntFilter' || type === 'FloatFilter') {
    const bind: Bind = (given, values) => `${values.add(given)}::float8`;
    const isText = enterpriseForm(kind, field) === 'text';
    if (isText)
      return {
        ...exactText(`(${sql})::text`),
        // The usual spelling of a whole number of the index.
        equals: (given, values) =>
          type === 'IntFilter' && /^(?:0|-?[1-9]\d{0,8})$/.test(given)
            ? conditions({ is: Number(given) }, values)
            : undefined,
      };
    return { type: 'number', sql: `(${sql})::float8`, bind };
  }
  if (type === 'BooleanFilter') return { ...exactText(sql), type: 'boolean' };
  if (type === 'DateTimeFilter') return { ...exactText(sql), type: 'dateTime' };
  const shape = match === 'caseExact' ? exactText(sql) : text(sql);
  if (filter !== undefined) return visibleTo === undefined ? { ...shape, equals: conditions } : shape;
  return {
    ...shape,
    equals: (given, values) => conditions({ is: given }, values),
    startsWith: (given, values) =>
      given.length > 128 ? undefined : conditions({ startsWith: given }, values),
  };
}

/** A filter, with the texts to which its values refer: the parser does not decode the escapes of JSON. */
export interface ParsedFilter {
  readonly root: Filter;
  readonly texts: readonly string[];
}

/** @throws ScimError invalidFilter */
export function parseFilter(given: string): ParsedFilter {
  if (given.length > LONGEST) throw invalid(`The filter is longer than ${LONGEST} characters`);
  const texts: string[] = [];
  try {
    const plain = given.replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => {
      const decoded = JSON.parse(literal) as string;
      return `"${texts.push(decoded.toWellFormed().replaceAll('\0', '\uFFFD')) - 1}"`;
    });
    const nested = plain.match(/[([]|\bnot\b/gi)?.length ?? 0;
    if (nested <= MOST_NESTED) return { root: parse(plain), texts };
  } catch {
    throw invalid('The filter has no valid syntax');
  }
  throw invalid(`The filter has more than ${MOST_NESTED} parentheses, brackets and negations`);
}

function invalid(message: string): ScimError {
  return new ScimError('invalidFilter', message);
}

type Comparison = Exclude<Extract<Filter, { attrPath: string }>, { op: '[]' }>;

/** Writes a filter as a condition on the rows of a list. */
export class FilterCondition {
  private comparisons = 0;

  /** @param others attributes that only resources of another type have */
  constructor(
    private readonly kind: Kind,
    private readonly comparables: Comparables,
    private readonly others: Comparables,
    private readonly texts: readonly string[],
    private readonly values: Values,
  ) {}

  /** A condition that may be null instead of false. @throws ScimError invalidFilter */
  write(filter: Filter, prefix = ''): string {
    switch (filter.op) {
      case 'and':
      case 'or':
        return `(${filter.filters.map((each) => this.write(each, prefix)).join(` ${filter.op} `)})`;
      case 'not':
        return not(this.write(filter.filter, prefix));
      case '[]':
        return this.writePath(filter.attrPath, prefix, filter.valFilter);
      default:
        return this.compare(filter, prefix);
    }
  }

  /** The conditions of a value path hold for one value. */
  private writePath(path: string, prefix: string, filter: Filter): string {
    if (prefix !== '') throw invalid('A value path is not allowed inside another one');
    const name = pathOf(path, this.kind);
    const { among } = this.find(path, `${name}.value`) ?? {};
    const within = this.write(filter, `${name}.`);
    return among === undefined ? within : `exists (select from ${among} and ${within})`;
  }

  private compare(filter: Comparison, prefix: string): string {
    if (++this.comparisons > MOST_COMPARISONS)
      throw invalid(`The filter has more than ${MOST_COMPARISONS} comparisons`);
    const { attrPath, op } = filter;
    const name = `${prefix}${prefix === '' ? pathOf(attrPath, this.kind) : attrPath.toLowerCase()}`;
    const comparable = this.find(attrPath, name, `${name}.value`);
    if (comparable === null) return 'false';
    const value = op === 'pr' ? null : filter.compValue;
    const isNegated = op === 'ne' ? value !== null : op === 'eq' && value === null;
    const plain =
      value === null
        ? this.isPresent(comparable, attrPath, op)
        : this.condition(comparable, attrPath, op, value);
    const { among, audience } = comparable;
    const seen = audience === undefined ? plain : `(${plain} and ${audience})`;
    const condition =
      among === undefined || prefix !== '' ? `(${seen})` : `exists (select from ${among} and (${seen}))`;
    return isNegated ? not(condition) : condition;
  }

  private isPresent({ sql }: Comparable, path: string, op: string): string {
    if (op !== 'pr' && op !== 'eq' && op !== 'ne')
      throw invalid(`${path} cannot be compared with null by ${op}`);
    return `${sql} is not null`;
  }

  private condition(
    comparable: Comparable,
    path: string,
    op: string,
    given: string | number | boolean,
  ): string {
    const { values } = this;
    const { type, sql, bind, equals, startsWith } = comparable;
    const value = typeof given === 'string' ? (this.texts[Number(given)] ?? '') : given;
    const order = ORDERS[op];
    const isEqual = order === '=';
    if (type === 'boolean' && isEqual && typeof value === 'boolean')
      return `${sql} = ${values.add(value)}::boolean`;
    if (type === 'number' && order !== undefined && typeof value === 'number')
      return `${sql} ${order} ${bind(String(value), values)}`;
    if (type === 'dateTime' && order !== undefined && typeof value === 'string')
      return `${sql} ${order} ${bind(parseInstant(value, path), values)}`;
    if (type !== 'string' || typeof value !== 'string')
      throw invalid(`${path} is a ${type}, which ${op} does not compare with this value`);
    const quick = isEqual ? equals?.(value, values) : op === 'sw' ? startsWith?.(value, values) : undefined;
    if (quick !== undefined) return quick;
    const wanted = bind(value, values);
    if (op === 'sw') return `starts_with(${sql}, ${wanted})`;
    if (op === 'co') return `position(${wanted} in ${sql}) > 0`;
    if (op === 'ew') return `right(${sql}, length(${wanted})) = ${wanted}`;
    return `${sql} collate "C" ${order} ${wanted}`;
  }

  /** Null for an attribute of another type, which no resource of this one has. @throws ScimError invalidFilter */
  private find(path: string, ...names: string[]): Comparable | null {
    for (const name of names) {
      const found = this.comparables.get(name);
      if (found !== undefined) return found;
    }
    if (names.some((name) => this.others.has(name))) return null;
    throw invalid(`There is no attribute ${path} by which this token can filter`);
  }
}

const ORDERS: Readonly<Record<string, string>> = {
  ...{ eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' },
};

function not(condition: string): string {
  return `((${condition}) is not true)`;
}

/** An instant of xsd:dateTime, in UTC if it has no offset. */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i;
const [FIRST_YEAR, LAST_YEAR] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'].map(Date.parse) as [
  number,
  number,
];

function parseInstant(given: string, path: string): string {
  const zone = INSTANT.exec(given)?.[1];
  const time = INSTANT.test(given) ? Date.parse(zone === undefined ? `${given}Z` : given) : NaN;
  if (Number.isNaN(time)) throw invalid(`${path} is compared with a time such as 2030-01-31T12:00:00Z`);
  return new Date(Math.min(Math.max(time, FIRST_YEAR), LAST_YEAR)).toISOString();
}

/** The columns of the order by an attribute, without the key. @throws ScimError invalidPath */
export function orderColumns(path: string, kind: Kind, comparables: Comparables): readonly OrderColumn[] {
  const name = pathOf(path, kind);
  const found = comparables.get(name) ?? comparables.get(`${name}.value`);
  const { order, type, sql, audience, among } = found ?? {};
  if (audience === undefined && order !== undefined) return order;
  if (among !== undefined || (type !== 'string' && type !== 'dateTime'))
    throw new ScimError('invalidPath', `Resources cannot be ordered by ${path}`);
  const shown = audience === undefined ? sql : `case when ${audience} then ${sql} end`;
  // Absent values are the last ones in ascending order (RFC 7644 §3.4.2.3).
  return [{ sql: `coalesce((${shown})::text collate "C", '${LAST}')`, type: 'text' }];
}

/** A path without the URN of the core schema, in lower case. */
function pathOf(path: string, kind: Kind): string {
  const core = `${CORE}${kind}:`.toLowerCase();
  const name = path.toLowerCase();
  return name.startsWith(core) ? name.slice(core.length) : name;
}
