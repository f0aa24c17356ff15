import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.js';

type Headers = Readonly<Record<string, string>>;

/** Maximum characters of a header field that is parsed, because parsing costs more than reading. */
export const LONGEST_PARSED_FIELD = 1000;

/** The headers with which browsers treat a response as data and not as a page. */
export function securityHeaders({ baseUrl }: Pick<Config, 'baseUrl'>): Record<string, string> {
  return {
    'content-security-policy': "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // A year, and only for this host: its subdomains may belong to other applications.
    ...(baseUrl.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}

/** What pages of other origins may read of responses. */
const EXPOSED =
  'directory-as-of, directory-revision, etag, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';

/** Responses to a preflight. Browsers may remember them for these seconds. */
const PREFLIGHT: Headers = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-max-age': '600',
  vary: 'Origin, Access-Control-Request-Headers',
  // Some browsers wait for a body otherwise.
  'content-length': '0',
};

/**
 * The headers of the CORS protocol (Fetch standard, §3.3). @fastify/cors would not write them for a malformed URL.
 * @param origins those of CORS_ORIGINS
 */
export function corsHeaders(
  origins: readonly string[],
  { headers: { origin = '' } }: IncomingMessage,
): Headers {
  if (origins.length === 0) return {};
  const allowed: Headers = origins.includes(origin) ? { 'access-control-allow-origin': origin } : {};
  return { ...allowed, vary: 'Origin', 'access-control-expose-headers': EXPOSED };
}

/**
 * The headers of the response to a preflight (§3.2.2) of a listed origin, which may send all header fields that it names: the
 * libraries of pages add some of their own. Null for another request, which the handler of its path answers.
 */
export function preflightHeaders(
  origins: readonly string[],
  { method, headers }: IncomingMessage,
): Headers | null {
  const { origin = '', 'access-control-request-headers': names } = headers;
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return null;
  if (!origins.includes(origin)) return null;
  return names === undefined ? PREFLIGHT : { ...PREFLIGHT, 'access-control-allow-headers': names };
}

/**
 * Returns whether an If-None-Match header matches the entity tag of a representation (RFC 9110 §13.1.2 and §8.8.3.2: weak
 * comparison, a list, or `*`).
 * @param etag with its quotes, and without `W/`
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  // The header is not split at commas, because a tag may contain one inside its quotes.
  return ifNoneMatch?.trim() === '*' || ifNoneMatch?.match(/"[^"]*"/g)?.includes(etag) === true;
}
