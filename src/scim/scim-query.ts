import { type Filter, parse } from 'scim2-parse-filter';
import { z } from 'zod';
import type { OrderColumn } from '../database/paging/page.js';
import type { Values } from '../database/statements/statement.js';
import type { Comparable } from '../memberships/comparable-fields.js';
import { ScimError } from './scim-error.js';
import { EXTENSIONS, OF_CORE, type ResourceType } from './scim-schemas.js';

/** The most characters of a filter, and the most parentheses, negations and comparisons. */
const LONGEST = 4000;
const MOST = 50;

type ParsedFilter = ReturnType<typeof parseFilter>;

/** A filter, and the texts that its values number: the parser does not decode the escapes of JSON. @throws ScimError */
export function parseFilter(given: string) {
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
    throw invalid(`It has no valid syntax, or more than ${LONGEST} characters or ${MOST} parentheses`);
  }
}

function invalid(message: string): ScimError {
  return new ScimError('invalidFilter', `The filter is not valid. ${message}`);
}

const OPERATORS: Record<string, string> = { eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' };

/** A condition on the rows of a list, which may be null instead of false. @param listed the types of all resources in the list */
export function writeFilter(
  { root, texts }: ParsedFilter,
  type: ResourceType,
  listed: readonly ResourceType[],
  values: Values,
): string {
  let comparisons = 0;
  const find = (path: string): Comparable | null => {
    const found = findIn(type, path);
    if (found !== undefined || listed.some((each) => findIn(each, path))) return found ?? null;
    throw invalid(`There is no attribute ${path} by which this token can filter`);
  };
  const not = (condition: string) => `((${condition}) is not true)`;
  const write = (filter: Filter, prefix: string): string => {
    if ('filters' in filter)
      return `(${filter.filters.map((each) => write(each, prefix)).join(` ${filter.op} `)})`;
    if ('filter' in filter) return not(write(filter.filter, prefix));
    if (++comparisons > MOST) throw invalid(`It has more than ${MOST} comparisons`);
    const path = `${prefix}${filter.attrPath}`;
    const found = find(path);
    if ('valFilter' in filter) {
      // The conditions hold for one value.
      const within = write(filter.valFilter, `${path}.`);
      if (found?.among !== undefined) return `exists (select from ${found.among} and ${within})`;
      return found === null ? 'false' : `(${within} and ${found.sql} is not null)`;
    }
    if (found === null) return 'false';
    const given = 'compValue' in filter ? filter.compValue : null;
    const value = typeof given === 'string' ? (texts[Number(given)] ?? '') : given;
    const plain = conditionOf(found, filter.op, value, path, values);
    const isMany = found.among !== undefined && prefix === '';
    const condition = isMany ? `exists (select from ${found.among} and ${plain})` : `(${plain})`;
    return filter.op === (value === null ? 'eq' : 'ne') ? not(condition) : condition;
  };
  return write(root, '');
}

type Value = string | number | boolean | null;

function conditionOf(found: Comparable, op: string, value: Value, path: string, values: Values): string {
  const { type, sql, bind, quick } = found;
  const operator = OPERATORS[op];
  if (value === null && (op === 'pr' || operator === '=')) return `${sql} is not null`;
  const isAllowed = type === 'string' || (type === 'boolean' ? operator === '=' : operator !== undefined);
  if (!isAllowed || typeof value !== (type === 'dateTime' ? 'string' : type))
    throw invalid(`${path} is a ${type}, which ${op} does not compare with this value`);
  const wanted = type === 'dateTime' ? instantOf(String(value), path) : String(value);
  const answer = quick?.(operator === '=' ? 'eq' : op, wanted, values);
  if (answer !== undefined) return answer;
  const bound = bind(wanted, values);
  if (op === 'sw') return `starts_with(${sql}, ${bound})`;
  if (op === 'co') return `position(${bound} in ${sql}) > 0`;
  if (op === 'ew') return `right(${sql}, length(${bound})) = ${bound}`;
  return `${sql} ${type === 'string' && operator !== '=' ? 'collate "C" ' : ''}${operator} ${bound}`;
}

/** An attribute by its name, or its sub-attribute `value`. */
function findIn({ comparables }: ResourceType, name: string): Comparable | undefined {
  const path = pathOf(name);
  return comparables.get(path) ?? comparables.get(`${path}|value`);
}

/** An instant of xsd:dateTime, in UTC if it has no offset. */
function instantOf(given: string, path: string): string {
  const [, zone] = /^[1-9]\d{3}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d|)$/.exec(given) ?? [];
  const time = zone === undefined ? NaN : Date.parse(zone === '' ? `${given}Z` : given);
  if (Number.isNaN(time)) throw invalid(`${path} is compared with a time such as 2030-01-31T12:00:00Z`);
  return new Date(Math.min(time, Date.parse('9999-12-31T23:59:59.999Z'))).toISOString();
}

/** The column of the order by an attribute. @throws ScimError invalidPath */
export function orderOf(path: string, resourceType: ResourceType): OrderColumn {
  const { order, type, sql, among } = findIn(resourceType, path) ?? {};
  if (order !== undefined) return order;
  if (among !== undefined || (type !== 'string' && type !== 'dateTime'))
    throw new ScimError('invalidPath', `Resources cannot be ordered by ${path}`);
  // Absent values are the last ones in ascending order (RFC 7644 §3.4.2.3).
  return { sql: `coalesce((${sql})::text collate "C", '\u{10FFFF}')`, type: 'text' };
}

const USUAL_PAGE = 100;
const LARGEST_PAGE = 1000;

/** The path of an attribute in lower case, the URN of an extension first. */
function pathOf(name: string): string {
  const lower = name.trim().toLowerCase();
  const urn = EXTENSIONS.find((each) => `${lower}:`.startsWith(`${each.toLowerCase()}:`));
  const own = lower.slice(urn === undefined ? 0 : urn.length + 1).replace(OF_CORE, '');
  return [urn?.toLowerCase(), ...own.split('.')].filter(Boolean).join('|');
}

/** The attributes that a request asks for, or leaves out (RFC 7644 §3.9). Without either, all are returned. */
class Selection {
  constructor(
    private readonly paths: readonly string[],
    private readonly isExclusion: boolean,
  ) {}

  /** Whether an attribute, or a part of it, may be returned. @param path names separated by `|` */
  has(path: string): boolean {
    const covers = (outer: string, inner: string) => `${inner}|`.startsWith(`${outer}|`);
    const lower = path.toLowerCase();
    if (this.isExclusion) return !this.paths.some((each) => covers(each, lower));
    return this.paths.some((each) => covers(each, lower) || covers(lower, each));
  }

  /** The selected parts of an object. */
  pick(object: object, prefix = ''): Record<string, unknown> {
    const shown = Object.entries(object).filter(([name]) => this.has(`${prefix}${name}`));
    const picked = shown.map(([name, value]: [string, unknown]) => {
      const inner = `${prefix}${name}|`;
      const hasParts = this.paths.some((each) => each.startsWith(inner.toLowerCase()));
      if (!hasParts || typeof value !== 'object' || value === null) return [name, value];
      const part = (each: object) => this.pick(each, inner);
      return [name, Array.isArray(value) ? value.map(part) : part(value)];
    });
    return Object.fromEntries(picked) as Record<string, unknown>;
  }
}

const TEXT = z.string().nullish();
const WHOLE = z.union([z.int(), z.string().regex(/^[-+]?\d{1,15}$/)]).nullish();
const NAMES = z
  .union([z.string().transform((list) => list.split(',')), z.array(z.string())])
  .nullish()
  .transform((names) => (names ?? []).map(pathOf).filter(Boolean));
/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865). */
const PARAMETERS = z.object({
  ...{
    filter: TEXT,
    sortBy: TEXT,
    sortOrder: z
      .string()
      .regex(/^(?:a|de)scending$/i)
      .nullish(),
  },
  ...{ startIndex: WHOLE, count: WHOLE, cursor: TEXT, attributes: NAMES, excludedAttributes: NAMES },
});

export type ScimQuery = ReturnType<typeof readQuery>;

/** @param given the parameters of a URL, or the members of a body @throws ScimError */
export function readQuery(given: unknown) {
  const { data, error } = PARAMETERS.safeParse(given);
  if (error) {
    const name = String(error.issues[0]?.path[0] ?? 'The request');
    const isOfCursor = name === 'count' && (given as { cursor?: unknown }).cursor !== undefined;
    const message = `${name} does not have the form of RFC 7644 §3.4.2`;
    throw new ScimError(isOfCursor ? 'invalidCount' : 'invalidValue', message);
  }
  const { filter, sortBy, sortOrder, startIndex, count, attributes, excludedAttributes: excluded } = data;
  if (attributes.length > 0 && excluded.length > 0)
    throw new ScimError('invalidValue', 'attributes and excludedAttributes exclude each other');
  return {
    ...{ filter: filter ? parseFilter(filter) : null, filterText: filter, sortBy: sortBy || null },
    cursor: data.cursor ?? null,
    isDescending: Boolean(sortBy) && sortOrder?.toLowerCase() === 'descending',
    startIndex: Math.max(1, Number(startIndex ?? 1)),
    count: Math.min(LARGEST_PAGE, Math.max(0, Number(count ?? USUAL_PAGE))),
    shown: attributes.length > 0 ? new Selection(attributes, false) : new Selection(excluded, true),
  };
}
