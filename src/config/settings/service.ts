import { availableParallelism } from 'node:os';
import { hostOf, isLoopback, parseUrl } from '../../common/url.js';
import type { Settings } from '../settings.js';

export function buildService(settings: Settings) {
  const production = settings.NODE_ENV === 'production';
  const host = settings.HOST.includes(':') ? `[${settings.HOST}]` : settings.HOST;
  const baseUrl = (settings.BASE_URL ?? `http://${host}:${settings.PORT}`).replace(/\/+$/, '');
  return {
    production,
    allowEmbedded: settings.ALLOW_EMBEDDED,
    host: settings.HOST,
    port: settings.PORT,
    /** Number of processes that serve requests. The embedded identity provider keeps its sessions in one. */
    workers:
      settings.AUTH_URL === undefined ? 1 : (settings.WORKERS ?? (production ? availableParallelism() : 1)),
    baseUrl,
    /** Without a trailing slash, as baseUrl: empty when the service is at the root of its host. */
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    logLevel: settings.LOG_LEVEL,
    trustedProxies: settings.TRUSTED_PROXIES as readonly string[],
    corsOrigins: settings.CORS_ORIGINS as readonly string[],
    /** Whether clients can introspect the schema, and whether errors suggest names. */
    disclosure: { introspection: settings.GRAPHQL_INTROSPECTION ?? !production },
  };
}

export function buildMonitoring(settings: Settings) {
  const { METRICS_PORT: port, OTEL_SERVICE_NAME: serviceName, HOST: host } = settings;
  // In production, the port of the API may be reachable from the internet.
  const beside = settings.NODE_ENV === 'production' ? null : ({ kind: 'beside' } as const);
  const metrics = port === undefined ? beside : ({ kind: 'apart', host, port } as const);
  return {
    /** Null: text in a terminal, JSON elsewhere. */
    logFormat: settings.LOG_FORMAT ?? null,
    requestLines: settings.LOG_REQUESTS,
    metrics,
    /** The label `service_name` of metrics, which distinguishes installations. */
    serviceName,
  };
}

export type RedisConfig = NonNullable<ReturnType<typeof buildRedis>>;

export function buildRedis({ REDIS_URL: url, REDIS_CA_FILE, BASE_URL }: Settings) {
  if (url === undefined) return null;
  // Without BASE_URL, replicas on different ports count as one installation.
  const { host, pathname } = new URL(BASE_URL ?? 'http://directory');
  /** The prefix of every key, followed by a colon. */
  const prefix = BASE_URL === undefined ? 'directory' : `directory:${host}${pathname.replace(/\/+$/, '')}`;
  return { url, prefix, certificates: REDIS_CA_FILE ?? null };
}

export function buildExplorer(settings: Settings, baseUrl: string) {
  const { EXPLORER, EXPLORER_CLIENT_ID, AUTH_URL, NODE_ENV } = settings;
  if (!(EXPLORER ?? (NODE_ENV !== 'production' && settings.TRUSTED_DOCUMENTS === undefined))) return null;
  return {
    /** A public client of the identity provider. Null: the explorer offers no sign-in. */
    clientId: EXPLORER_CLIENT_ID ?? (AUTH_URL === undefined ? 'explorer' : null),
    redirectUri: `${baseUrl}/explorer/callback`,
  };
}

export type LimitsConfig = ReturnType<typeof buildLimits>;

export function buildLimits(settings: Settings) {
  return {
    depth: settings.LIMIT_DEPTH,
    aliases: settings.LIMIT_ALIASES,
    tokens: settings.LIMIT_TOKENS,
    bodyBytes: settings.LIMIT_BODY_BYTES,
    requestSeconds: settings.LIMIT_REQUEST_SECONDS,
    connections: settings.LIMIT_CONNECTIONS,
    nodes: settings.LIMIT_NODES,
    pointsPerHour: settings.LIMIT_POINTS_PER_HOUR,
    requestsPerMinute: settings.LIMIT_REQUESTS_PER_MINUTE,
    failedLogins: settings.LIMIT_FAILED_LOGINS,
    streams: settings.LIMIT_STREAMS,
    streamsPerPrincipal: settings.LIMIT_STREAMS_PER_PRINCIPAL,
    responseCacheMegabytes: settings.RESPONSE_CACHE_MEGABYTES,
  };
}

export const DEMO_ACCOUNT = 'demo';

/**
 * Whether a request may use the embedded identity provider, which requires no password, and the account of the demonstration.
 * Without ALLOW_EMBEDDED, only requests to the local machine or to the host of BASE_URL may. Under DNS rebinding, the Host
 * header has the name that the attacker resolves to this machine.
 * @param host the unparsed Host header field
 */
export function mayUseEmbedded(
  { allowEmbedded, baseUrl }: Pick<ReturnType<typeof buildService>, 'allowEmbedded' | 'baseUrl'>,
  host = '',
): boolean {
  if (allowEmbedded) return true;
  const url = /^[\w.:[\]-]+$/.test(host) ? parseUrl(`http://${host}`) : null;
  return url !== null && (isLoopback(hostOf(url)) || url.hostname === new URL(baseUrl).hostname);
}

export const EMBEDDED_REFUSAL =
  'The embedded identity provider and the account of the demonstration only answer requests to localhost, or to the host of BASE_URL: ' +
  'set BASE_URL to the address that you use, or ALLOW_EMBEDDED=true';
