import { type Filter, parse } from 'scim2-parse-filter';
import type { Field } from '../common/field.js';
import { fold } from '../common/fold.js';
import { foldAddress, foldId, isUuid } from '../common/identity.js';
import { fieldConditions, filterTypeOf } from '../database/fields/filters.js';
import type { OrderColumn } from '../database/paging/page.js';
import type { Values } from '../database/statements/statement.js';
import { ScimError } from './scim-error.js';
import { CORE, enterpriseForm, type Kind, KINDS, type ResourceType } from './scim-schemas.js';

/** The most characters of a filter, and the most parentheses, negations and comparisons. */
const LONGEST = 4000;
const MOST = 50;
/** The last code point: greater than every character. */
const LAST = '\u{10FFFF}';

/** SQL for a value of a filter. Undefined: there is none for this value. */
type Write = (given: string, values: Values) => string | undefined;

/** An attribute by which lists are filtered and ordered. */
export interface Comparable {
  readonly type: 'string' | 'boolean' | 'number' | 'dateTime';
  /** SQL of the value, as it is compared. Null if there is none. */
  readonly sql: string;
  readonly bind: Write;
  /** Conditions that an index answers, in place of those with `sql`. */
  readonly eq?: Write;
  readonly sw?: Write;
  /** Of a multi-valued attribute: the rows with one value each. */
  readonly among?: string;
  /** The column that orders, with an index. Default: the value. */
  readonly order?: OrderColumn;
}

/** The attributes by their paths in lower case. */
export type Comparables = ReadonlyMap<string, Comparable>;

const cast = (type: string) => (given: string, values: Values) => `${values.add(given)}::${type}`;

function exact(sql: string, type: Comparable['type'] = 'string'): Comparable {
  return { type, sql, bind: cast('text') };
}

/** A text without regard to case. */
function text(sql: string): Comparable {
  return {
    type: 'string',
    sql: `lower(${sql})`,
    bind: (given, values) => `lower(${cast('text')(given, values)})`,
  };
}

/** A range, because the plan of a prepared statement uses an index for LIKE only with a constant. */
function begins(sql: string, prefix: string, values: Values): string {
  return `${sql} >= ${cast('text')(prefix, values)} and ${sql} < ${cast('text')(`${prefix}${LAST}`, values)}`;
}

/** A text whose folded form has an index in the order of bytes. */
function indexed(sql: string, foldText: (given: string) => string): Comparable {
  const bind = (given: string, values: Values) => cast('text')(foldText(given), values);
  const eq: Write = (given, values) => `${sql} = ${bind(given, values)}`;
  return { ...exact(sql), bind, eq, sw: (given, values) => begins(sql, foldText(given), values) };
}

/** A name. The index of the folded form, which also ignores accents, finds those among which the same one is. */
function nameOf(alias: string): Comparable {
  const [sql, folded] = [`${alias}.name`, `${alias}.sort_name`];
  const eq: Write = (given, values) => {
    const prefix = [...fold(given.slice(0, 50)).trim()].slice(0, 25).join('');
    return `${begins(folded, prefix, values)} and lower(${sql}) = lower(${cast('text')(given, values)})`;
  };
  return { ...text(sql), eq, order: { sql: folded, type: 'text' } };
}

function uuid(sql: string): Comparable {
  const eq: Write = (given, values) => (isUuid(given) ? `${sql} = ${values.add(given)}::uuid` : 'false');
  return { ...exact(`${sql}::text`), eq };
}

function instant(sql: string): Comparable {
  return { ...exact(sql, 'dateTime'), bind: cast('timestamptz'), order: { sql, type: 'timestamp' } };
}

const GROUPS = 'effective_memberships m join groups g on g.key = m.group_key where m.user_key = u.key';
const MEMBERS =
  'effective_memberships m join users u on u.key = m.user_key where m.group_key = g.key and g.members_visible_to = 0';

/** @param columns SQL of the fields, as the viewer sees them */
export function comparablesOf(
  { kind, extensions }: ResourceType,
  columns: Readonly<Record<string, string>>,
): Comparables {
  const alias = kind === 'User' ? 'u' : 'g';
  const ofId = indexed(`${alias}.id_folded`, foldId);
  const id: Comparable = { ...ofId, order: { sql: ofId.sql, type: 'text' } };
  const name = nameOf(alias);
  const hidesEmail = columns['email'] !== 'u.email';
  const ofKind: Record<string, Comparable> =
    kind === 'User'
      ? {
          ...{ username: id, 'name.formatted': name, active: exact('u.is_active', 'boolean') },
          ...{ 'name.familyname': text('u.family_name'), 'name.givenname': text('u.given_name') },
          'emails.value': hidesEmail
            ? text(columns['email'] ?? 'null')
            : indexed('lower(u.email collate "C")', foldAddress),
          'emails.type': text(`case when ${columns['email'] ?? 'null'} is not null then 'work' end`),
          'groups.value': { ...uuid('g.entry_uuid'), among: GROUPS },
          'groups.display': { ...text('g.name'), among: GROUPS },
          'groups.type': {
            ...text(`case when m.direct_role is null then 'indirect' else 'direct' end`),
            among: GROUPS,
          },
        }
      : {
          'members.value': { ...uuid('u.entry_uuid'), among: MEMBERS },
          'members.display': { ...text('u.name'), among: MEMBERS },
        };
  const custom = [...extensions].flatMap(([urn, fields]) =>
    fields.flatMap((field): [string, Comparable][] => {
      const isId = kind === 'Group' && field.name === 'id';
      const found = isId ? id : customOf(kind, field, columns[field.name] ?? 'null', alias);
      return found === null ? [] : [[`${urn}:${field.name}`.toLowerCase(), found]];
    }),
  );
  return new Map([
    ...Object.entries({ ...ofKind, id: uuid(`${alias}.entry_uuid`), displayname: name }),
    ...[
      ['meta.created', instant(`${alias}.created_at`)] as const,
      ['meta.lastmodified', instant(`${alias}.updated_at`)] as const,
    ],
    ...custom,
  ]);
}

/** A field by which lists can be filtered, with the conditions and indexes of lists; null for another one. */
function customOf(kind: Kind, field: Field, sql: string, alias: 'u' | 'g'): Comparable | null {
  const { name, filter, visibleTo, match } = field;
  const by = (wanted: unknown, values: Values) =>
    fieldConditions([field], { [name]: wanted }, values, alias).join(' and ');
  const form = enterpriseForm(kind, field);
  switch (form === 'manager' ? null : filterTypeOf(field)) {
    case 'IntFilter':
    case 'FloatFilter': {
      if (form === null) return { ...exact(`(${sql})::float8`, 'number'), bind: cast('float8') };
      const isWhole = (given: string) => field.type === 'Int' && /^(?:0|-?[1-9]\d{0,8})$/.test(given);
      return {
        ...exact(`(${sql})::text`),
        eq: (given, values) => (isWhole(given) ? by({ is: Number(given) }, values) : undefined),
      };
    }
    case 'BooleanFilter':
      return form === null ? exact(sql, 'boolean') : exact(`(${sql})::text`);
    case 'DateTimeFilter':
      return exact(sql, form === null ? 'dateTime' : 'string');
    case 'StringFilter': {
      const sw: Write = (given, values) =>
        given.length > 128 ? undefined : by({ startsWith: given }, values);
      return {
        ...(match === 'caseExact' ? exact(sql) : text(sql)),
        eq: (given, values) => by({ is: given }, values),
        sw,
      };
    }
    default:
      return filter === undefined || visibleTo !== undefined ? null : { ...text(sql), eq: by };
  }
}

/** A filter, and the texts that its values number: the parser does not decode the escapes of JSON. */
export interface ParsedFilter {
  readonly root: Filter;
  readonly texts: readonly string[];
}

/** @throws ScimError invalidFilter */
export function parseFilter(given: string): ParsedFilter {
  const texts: string[] = [];
  try {
    if (given.length > LONGEST) throw new Error('It is too long');
    const plain = given.replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => {
      const decoded = JSON.parse(literal) as string;
      return `"${texts.push(decoded.toWellFormed().replaceAll('\0', '\uFFFD')) - 1}"`;
    });
    if ((plain.match(/[([]|\bnot\b/gi)?.length ?? 0) > MOST) throw new Error('It is nested too deeply');
    return { root: parse(plain), texts };
  } catch {
    throw invalid(
      `The filter has no valid syntax, more than ${LONGEST} characters, or more than ${MOST} parentheses`,
    );
  }
}

function invalid(message: string): ScimError {
  return new ScimError('invalidFilter', message);
}

type Comparison = Exclude<Extract<Filter, { attrPath: string }>, { op: '[]' }>;

const OPERATORS: Readonly<Record<string, string>> = {
  eq: '=',
  ne: '=',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
};

/** Writes a filter as a condition on the rows of a list. */
export class FilterCondition {
  private comparisons = 0;

  /** @param others attributes that only resources of another type in the same list have */
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
      case '[]': {
        // The conditions hold for one value.
        const found = this.find(`${prefix}${filter.attrPath}.value`);
        const within = this.write(filter.valFilter, `${prefix}${filter.attrPath}.`);
        if (found === null) return 'false';
        const { among, sql } = found;
        return among === undefined
          ? `(${within} and ${sql} is not null)`
          : `exists (select from ${among} and ${within})`;
      }
      default:
        return this.compare(filter, prefix);
    }
  }

  private compare(filter: Comparison, prefix: string): string {
    if (++this.comparisons > MOST) throw invalid(`The filter has more than ${MOST} comparisons`);
    const path = `${prefix}${filter.attrPath}`;
    const found = this.find(path);
    if (found === null) return 'false';
    const value = filter.op === 'pr' ? null : filter.compValue;
    const isSimple = /^(?:pr|eq|ne)$/.test(filter.op);
    if (value === null && !isSimple) throw invalid(`${path} is compared with null`);
    const plain = value === null ? `${found.sql} is not null` : this.condition(found, filter.op, value, path);
    const condition =
      found.among === undefined || prefix !== ''
        ? `(${plain})`
        : `exists (select from ${found.among} and ${plain})`;
    return filter.op === (value === null ? 'eq' : 'ne') ? not(condition) : condition;
  }

  private condition(
    { type, sql, bind, ...quick }: Comparable,
    op: string,
    given: string | number | boolean,
    path: string,
  ): string {
    const { values } = this;
    const value = typeof given === 'string' ? (this.texts[Number(given)] ?? '') : given;
    const operator = OPERATORS[op];
    const compared = type === 'dateTime' ? 'string' : type;
    const hasOperator = type === 'string' || (type === 'boolean' ? operator === '=' : operator !== undefined);
    if (typeof value !== compared || !hasOperator)
      throw invalid(`${path} is a ${type}, which ${op} does not compare with this value`);
    if (type === 'boolean') return `${sql} = ${values.add(value)}::boolean`;
    const wanted = type === 'dateTime' ? instantOf(String(value), path) : String(value);
    const known =
      operator === '=' ? quick.eq?.(wanted, values) : op === 'sw' ? quick.sw?.(wanted, values) : undefined;
    if (known !== undefined) return known;
    const bound = bind(wanted, values) ?? 'null';
    if (op === 'sw') return `starts_with(${sql}, ${bound})`;
    if (op === 'co') return `position(${bound} in ${sql}) > 0`;
    if (op === 'ew') return `right(${sql}, length(${bound})) = ${bound}`;
    return `${sql} ${type === 'string' ? 'collate "C" ' : ''}${operator} ${bound}`;
  }

  /** Null for an attribute of another type, which no resource of this one has. @throws ScimError invalidFilter */
  private find(path: string): Comparable | null {
    const found = findIn(this.comparables, path, this.kind);
    if (found !== undefined) return found;
    if (KINDS.some((kind) => findIn(this.others, path, kind) !== undefined)) return null;
    throw invalid(`There is no attribute ${path} by which this token can filter`);
  }
}

/** An attribute without the URN of the core schema, or its sub-attribute `value`. */
function findIn(comparables: Comparables, path: string, kind: Kind): Comparable | undefined {
  const core = `${CORE}${kind}:`.toLowerCase();
  const lower = path.toLowerCase();
  const name = lower.startsWith(core) ? lower.slice(core.length) : lower;
  return comparables.get(name) ?? comparables.get(`${name}.value`);
}

function not(condition: string): string {
  return `((${condition}) is not true)`;
}

/** An instant of xsd:dateTime, in UTC if it has no offset. */
function instantOf(given: string, path: string): string {
  const [, zone] = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d|)$/.exec(given) ?? [];
  const time = zone === undefined ? NaN : Date.parse(zone === '' ? `${given}Z` : given);
  if (Number.isNaN(time)) throw invalid(`${path} is compared with a time such as 2030-01-31T12:00:00Z`);
  return new Date(Math.min(time, Date.parse('9999-12-31T23:59:59.999Z'))).toISOString();
}

/** The column of the order by an attribute. @throws ScimError invalidPath */
export function orderOf(path: string, kind: Kind, comparables: Comparables): OrderColumn {
  const { order, type, sql, among } = findIn(comparables, path, kind) ?? {};
  if (order !== undefined) return order;
  if (among !== undefined || (type !== 'string' && type !== 'dateTime'))
    throw new ScimError('invalidPath', `Resources cannot be ordered by ${path}`);
  // Absent values are the last ones in ascending order (RFC 7644 §3.4.2.3).
  return { sql: `coalesce((${sql})::text collate "C", '${LAST}')`, type: 'text' };
}
