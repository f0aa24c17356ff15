import type { IncomingMessage } from 'node:http';

type Headers = Readonly<Record<string, string>>;

/** What pages of other origins may read of responses. */
const EXPOSED = [
  'directory-as-of',
  'directory-revision',
  'etag',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-request-id',
];

/** Responses to a preflight. Browsers may remember them for these seconds. */
const PREFLIGHT: Headers = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-max-age': '600',
  vary: 'Origin, Access-Control-Request-Headers',
  // Some browsers wait for a body otherwise.
  'content-length': '0',
};

/** Up to a hundred names of header fields (RFC 9110 §5.1), none longer than a hundred characters. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~-]{1,100}(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]{1,100}){0,99}$/;

/**
 * The headers of the CORS protocol (Fetch standard, §3.3), prepared for each origin of CORS_ORIGINS. @fastify/cors computes them for
 * each request, which costs a cached response a quarter of its speed.
 */
export class CorsHeaders {
  private readonly byOrigin: ReadonlyMap<string, Headers>;
  /** For all other origins, and for requests without one. */
  private readonly others: Headers;

  constructor(origins: readonly string[]) {
    const shared = { vary: 'Origin', 'access-control-expose-headers': EXPOSED.join(', ') };
    this.others = shared;
    this.byOrigin = new Map(
      origins.map((origin) => [origin, { 'access-control-allow-origin': origin, ...shared }]),
    );
  }

  of({ headers: { origin } }: IncomingMessage): Headers {
    return (origin === undefined ? undefined : this.byOrigin.get(origin)) ?? this.others;
  }

  /**
   * The headers of the response to a preflight (§3.2.2) of a listed origin, which may send all header fields that it names: the
   * libraries of pages add some of their own. Null for another request, which the handler of its path answers.
   */
  ofPreflight({ method, headers }: IncomingMessage): Headers | null {
    const { origin = '', 'access-control-request-headers': names = '' } = headers;
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return null;
    if (!this.byOrigin.has(origin)) return null;
    return FIELD_NAMES.test(names) ? { ...PREFLIGHT, 'access-control-allow-headers': names } : PREFLIGHT;
  }
}
