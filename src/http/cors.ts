import type { IncomingMessage } from 'node:http';

type Headers = Readonly<Record<string, string>>;

/** What pages of other origins may read of responses. */
const EXPOSED = [
  'deprecation',
  'directory-as-of',
  'directory-revision',
  'etag',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'sunset',
  'www-authenticate',
  'x-request-id',
];

/** Responses to a preflight: what such pages may send, and for how many seconds they may remember it. */
const PREFLIGHT: Headers = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers':
    'authorization, content-type, directory-max-staleness, if-none-match, x-request-id, last-event-id',
  'access-control-max-age': '600',
  // Some browsers wait for a body otherwise.
  'content-length': '0',
};

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

  /** The headers of the response to a preflight (§3.2.2); null for another request, which the handler of its path answers. */
  ofPreflight({ method, headers }: IncomingMessage): Headers | null {
    const isPreflight =
      method === 'OPTIONS' &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined;
    return isPreflight ? PREFLIGHT : null;
  }
}
