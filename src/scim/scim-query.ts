import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { type Filter, parse } from 'scim2-parse-filter';
import { z } from 'zod';
import { bounded } from '../common/errors.js';
import type { OrderColumn } from '../database/paging/page.js';
import type { Values } from '../database/statements/statement.js';
import { rateLimitHeaders } from '../graphql/rate-limit/rate-limiter.js';
import { RejectionError, type RejectionForm } from '../http/rejection.js';
import type { Comparable } from '../memberships/comparable-fields.js';
import { EXTENSIONS, OF_CORE, type ResourceType } from './scim-schemas.js';

/** A request that is not valid. @param type that of RFC 7644 §3.12 or RFC 9865 §2.2, which the answer has as `scimType` */
export class ScimError extends RejectionError {
  constructor(type: string, message: string) {
    super(400, 'BAD_USER_INPUT', bounded(message), {}, { argument: type });
  }
}

/** The media type of an answer; undefined if the client accepts none. With the charset, an Accept header that contains it matches, too. */
export function mediaTypeOf(raw: IncomingMessage): string | undefined {
  const types = ['application/scim+json; charset=utf-8', 'application/json; charset=utf-8'];
  return new Negotiator(raw).mediaType(types)?.split(';')[0];
}

/** All rejections below the path, also those that no controller has seen. */
export const SCIM_REJECTIONS: RejectionForm = {
  matches: ({ url, routeOptions: { url: route = '' } }) => /^\/scim\/v2(?![^/?\n])/m.test(`${url}\n${route}`),
  write: (rejection, _requestId, { raw, rateLimits }) => {
    const { status, code, message: detail, details } = rejection;
    const byCode = code === 'INVALID_CURSOR' ? 'invalidCursor' : undefined;
    const scimType = rejection instanceof ScimError ? details.argument : byCode;
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
    return {
      type: mediaTypeOf(raw) ?? 'application/scim+json',
      headers: rateLimitHeaders(rateLimits ?? []),
      body: JSON.stringify({ schemas, scimType, detail, status: String(status) }),
    };
  },
};

/** The most characters of a filter, and the most parentheses, negations and comparisons. */
const [LONGEST, MOST] = [4000, 50] as const;

/** A filter, and the texts that its values number: the parser does not decode the escapes of JSON. @throws ScimError */
export function parseFilter(given: string) {
  const texts: string[] = [];
  try {
    if (given.length > LONGEST || given.split(/[([]|\bnot\b/i).length > MOST) throw new Error('Too long');
    const plain = given.replace(/"(?:[^"\\]|\\.)*"/gs, (literal) => {
      const decoded = JSON.parse(literal) as string;
      return `"${texts.push(decoded.toWellFormed().replaceAll('\0', '\uFFFD')) - 1}"`;
    });
    return { root: parse(plain), texts };
  } catch {
    throw invalid(`It has no valid syntax, or more than ${LONGEST} characters or ${MOST} parentheses`);
  }
}

const invalid = (message: string) => new ScimError('invalidFilter', `The filter is not valid. ${message}`);
const EQUALITY = ['eq', 'ne', 'pr'];
const ORDERED = { eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' };
const OPERATORS: Record<string, (sql: string, bound: string) => string> = {
  sw: (sql, bound) => `starts_with(${sql}, ${bound})`,
  co: (sql, bound) => `position(${bound} in ${sql}) > 0`,
  ew: (sql, bound) => `right(${sql}, length(${bound})) = ${bound}`,
};

/** A condition on the rows of a list, which may be null instead of false. @param listed the types of all resources in the list */
export function writeFilter(
  { root, texts }: ReturnType<typeof parseFilter>,
  type: ResourceType,
  listed: readonly ResourceType[],
  values: Values,
): string {
  let comparisons = 0;
  const not = (condition: string) => `((${condition}) is not true)`;
  // Without an index, a comparison reads all memberships.
  const weightOf = (found: Comparable | undefined, filter: Filter) =>
    found?.among !== undefined && 'op' in filter && filter.op !== 'eq' ? 10 : 1;
  const write = (filter: Filter, prefix: string): string => {
    if ('filters' in filter)
      return `(${filter.filters.map((each) => write(each, prefix)).join(` ${filter.op} `)})`;
    if ('filter' in filter) return not(write(filter.filter, prefix));
    const path = `${prefix}${filter.attrPath}`;
    const found = findIn(type, path);
    comparisons += weightOf(found, filter);
    if (comparisons > MOST) throw invalid(`It has more than ${MOST} comparisons, or 5 of memberships`);
    if (found === undefined && !listed.some((each) => findIn(each, path)))
      throw invalid(`There is no attribute ${path} by which this token can filter`);
    if (found === undefined) return 'false';
    const { among, sql } = found;
    if ('valFilter' in filter) {
      const within = write(filter.valFilter, `${path}.`);
      return among ? `exists (select from ${among} and ${within})` : `(${within} and ${sql} is not null)`;
    }
    const given = 'compValue' in filter ? filter.compValue : null;
    const value = typeof given === 'string' ? texts[Number(given)] : given;
    const plain = conditionOf(found, filter.op, value, path, values);
    const condition = among && prefix === '' ? `exists (select from ${among} and ${plain})` : `(${plain})`;
    return filter.op === (value === null ? 'eq' : 'ne') ? not(condition) : condition;
  };
  return write(root, '');
}

function conditionOf(found: Comparable, op: string, value: unknown, path: string, values: Values): string {
  const { type, sql, bind, quick } = found;
  if (value === null && EQUALITY.includes(op)) return `${sql} is not null`;
  const isAllowed = type === 'string' || (type === 'boolean' ? EQUALITY : Object.keys(ORDERED)).includes(op);
  const wanted = type === 'dateTime' ? instantOf(value) : value;
  if (!isAllowed || typeof wanted !== (type === 'dateTime' ? 'string' : type))
    throw invalid(`${path} is a ${type}, which ${op} does not compare with this value`);
  const operator = ORDERED[op as keyof typeof ORDERED];
  const text = String(wanted);
  const answer = quick?.(operator === '=' ? 'eq' : op, text, values);
  if (answer !== undefined) return answer;
  const bound = bind(text, values);
  return OPERATORS[op]?.(sql, bound) ?? `${sql} ${operator} ${bound}`;
}

/** An attribute by its name, or its sub-attribute `value`. */
function findIn({ kind, comparables }: ResourceType, name: string): Comparable | undefined {
  if (OF_CORE.test(name) && !name.toLowerCase().includes(`:${kind}:`.toLowerCase())) return undefined;
  const path = pathOf(name);
  return comparables.get(path) ?? comparables.get(`${path}|value`);
}

/** An instant of xsd:dateTime, in UTC if it has no offset. Null: it is none. */
function instantOf(given: unknown): string | null {
  const [text, zone] = /^[1-9]\d{3}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d|)$/.exec(String(given)) ?? [''];
  const time = Math.min(Date.parse(zone === '' ? `${text}Z` : text), Date.parse('9999-12-31T23:59:59.999Z'));
  return Number.isNaN(time) ? null : new Date(time).toISOString();
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
const NAMES = z.union([z.string(), z.array(z.string())]).optional();
const ORDER = z.string().regex(/^(?:a|de)scending$/i);
const [USUAL_PAGE, LARGEST_PAGE] = [100, 1000] as const;
const PARAMETERS = z.object({
  ...{ filter: TEXT, sortBy: TEXT, sortOrder: ORDER.nullish() },
  ...{ startIndex: WHOLE, count: WHOLE, cursor: TEXT, attributes: NAMES, excludedAttributes: NAMES },
});

/** The parameters in the URL or the body (RFC 7644 §3.4.2, RFC 9865). @throws ScimError */
function readParameters({ method, query, bodyText }: FastifyRequest) {
  let given = query;
  try {
    if (method === 'POST') given = JSON.parse(bodyText ?? '');
  } catch {
    throw new ScimError('invalidSyntax', 'The body is not valid JSON');
  }
  const { data, error } = PARAMETERS.safeParse(given);
  if (data !== undefined) return data;
  const name = String(error.issues[0]?.path[0] ?? 'The request');
  const isOfCursor = name === 'count' && (given as { cursor?: unknown }).cursor !== undefined;
  throw new ScimError(isOfCursor ? 'invalidCount' : 'invalidValue', `${name} is not valid (RFC 7644)`);
}

export type ScimQuery = ReturnType<typeof readQuery>;
export function readQuery(request: FastifyRequest) {
  const { filter, sortBy, sortOrder, ...others } = readParameters(request);
  const pathsOf = (names: string | string[] = '') => String(names).split(',').map(pathOf).filter(Boolean);
  const [attributes, excluded] = [pathsOf(others.attributes), pathsOf(others.excludedAttributes)];
  if (attributes.length > 0 && excluded.length > 0)
    throw new ScimError('invalidValue', 'attributes and excludedAttributes exclude each other');
  return {
    ...{ filter: filter ? parseFilter(filter) : null, sortBy: sortBy || null, cursor: others.cursor ?? null },
    direction: sortBy && /^d/i.test(sortOrder ?? '') ? ('DESC' as const) : ('ASC' as const),
    startIndex: Math.max(1, Number(others.startIndex ?? 1)),
    count: Math.min(LARGEST_PAGE, Math.max(0, Number(others.count ?? USUAL_PAGE))),
    shown: attributes.length > 0 ? new Selection(attributes, false) : new Selection(excluded, true),
  };
}
