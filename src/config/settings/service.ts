import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { hostOf, isLoopback, parseHttpUrl, parseUrl, readHost } from '../../common/url.js';
import {
  certificates,
  httpUrl,
  integer,
  list,
  oneOf,
  secret,
  setting,
  text,
  trueOrFalse,
  type ValuesOf,
  wholeNumber,
  yesOrNo,
} from '../setting.js';

const hostName = text.refine(
  (value) =>
    /^[A-Za-z0-9.:-]+$/.test(value) &&
    parseUrl(`http://${value.includes(':') ? `[${value}]` : value}`) !== null,
  { error: 'must be a host name or an IP address' },
);

/** Origins in the form that browsers send: nothing after the port, and no default port. */
const origins = list.refine(
  (items) => items.every((item) => !item.includes('*') && parseHttpUrl(item)?.origin === item),
  { error: 'must be origins such as https://pages.example.org, separated by commas' },
);

const addressOrNetwork = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const proxies = list.refine((items) => items.every((item) => addressOrNetwork.safeParse(item).success), {
  error: 'must be IP addresses or networks such as 10.0.0.0/8, separated by commas',
});

/** Settings of the addresses of the service, and of the information that it discloses. */
export const SERVICE_SETTINGS = {
  HOST: setting(hostName.default('127.0.0.1'), 'Address to listen on.'),
  PORT: setting(integer(1, 65_535, 3000), 'Port to listen on.'),
  BASE_URL: setting(
    httpUrl.optional(),
    'Public URL of the service, with an optional path. Default: http://HOST:PORT.',
  ),
  WORKERS: setting(
    wholeNumber(1, 64).optional(),
    'Number of processes that serve requests. Default: the number of cores with PostgreSQL and AUTH_URL, otherwise 1.',
  ),
  NODE_ENV: setting(
    oneOf(['production', 'development', 'test']).default('development'),
    'production, development or test. production rejects the embedded parts and hides the schema.',
  ),
  ALLOW_EMBEDDED: setting(
    yesOrNo,
    'Allows the embedded parts in production and under every host name, for a demonstration.',
  ),
  LOG_LEVEL: setting(
    oneOf(['fatal', 'error', 'warn', 'log', 'debug', 'verbose']).default('log'),
    'Lowest level that is logged: fatal, error, warn, log, debug or verbose.',
  ),
  TRUSTED_PROXIES: setting(
    proxies.default([]),
    'IP addresses or networks of reverse proxies whose X-Forwarded-For header is trusted, comma-separated.',
  ),
  CORS_ORIGINS: setting(
    origins.default([]),
    'Origins of web pages that may call the API from a browser, comma-separated.',
  ),
  GRAPHQL_INTROSPECTION: setting(
    trueOrFalse.optional(),
    'Allows introspection of the schema, and errors that suggest its names. Default: true, in production false.',
  ),
};

type ServiceSettings = ValuesOf<typeof SERVICE_SETTINGS>;

/** Returns the URL under which clients reach the service, without a trailing slash. */
function baseUrlOf({ HOST, PORT, BASE_URL }: ServiceSettings): string {
  const host = HOST.includes(':') ? `[${HOST}]` : HOST;
  return (BASE_URL ?? `http://${host}:${PORT}`).replace(/\/+$/, '');
}

/** @param hasIssuer the embedded identity provider keeps its sessions in one process */
export function buildService(settings: ServiceSettings, hasIssuer: boolean) {
  const production = settings.NODE_ENV === 'production';
  const baseUrl = baseUrlOf(settings);
  return {
    production,
    allowEmbedded: settings.ALLOW_EMBEDDED,
    host: settings.HOST,
    port: settings.PORT,
    /** Number of processes that serve requests. */
    workers: hasIssuer ? (settings.WORKERS ?? availableParallelism()) : 1,
    /** Without a trailing slash. */
    baseUrl,
    /** The path of `baseUrl`, without a trailing slash: empty when the service is at the root of its host. */
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    logLevel: settings.LOG_LEVEL,
    trustedProxies: settings.TRUSTED_PROXIES as readonly string[],
    corsOrigins: settings.CORS_ORIGINS as readonly string[],
    /** Whether clients can introspect the schema, and whether errors suggest names. */
    disclosure: { introspection: settings.GRAPHQL_INTROSPECTION ?? !production },
  };
}

export const MONITORING_SETTINGS = {
  LOG_FORMAT: setting(
    oneOf(['json', 'text']).optional(),
    'Log format: json or text. Default: text in a terminal, json otherwise.',
  ),
  LOG_REQUESTS: setting(trueOrFalse.default(true), 'Writes one log line for each request, at the level log.'),
  METRICS_PORT: setting(
    wholeNumber(1, 65_535).optional(),
    'Separate port of HOST for /metrics. Default: PORT, in production no metrics.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    httpUrl.optional(),
    'OTLP collector for traces. The OpenTelemetry SDK reads its other variables. Empty: no traces.',
  ),
  OTEL_SERVICE_NAME: setting(
    text.default('directory-service'),
    'Name of the service in traces, and in the label service_name of all metrics. Each installation needs its own.',
  ),
};

/** Where `/metrics` is served: `beside` is the port of the API, `apart` a separate port. */
type MetricsConfig =
  { readonly kind: 'beside' } | { readonly kind: 'apart'; readonly host: string; readonly port: number };

export function buildMonitoring(settings: ValuesOf<typeof MONITORING_SETTINGS> & ServiceSettings) {
  const { METRICS_PORT: port, OTEL_SERVICE_NAME: serviceName, HOST: host } = settings;
  // In production, the port of the API may be reachable from the internet.
  const beside: MetricsConfig | null = settings.NODE_ENV === 'production' ? null : { kind: 'beside' };
  const metrics: MetricsConfig | null = port === undefined ? beside : { kind: 'apart', host, port };
  return {
    /** Null: text in a terminal, JSON elsewhere. */
    logFormat: settings.LOG_FORMAT ?? null,
    /** Whether the log has a line for every request. */
    requestLines: settings.LOG_REQUESTS,
    metrics,
    /** The label `service_name` of metrics, which distinguishes installations. */
    serviceName,
    /** Null: no traces. OpenTelemetry would send them to the local machine by default. */
    traces: settings.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? null : { serviceName },
  };
}

/** Settings of the access log, which records reads of personal data. */
export const ACCESS_LOG_SETTINGS = {
  ACCESS_LOG_DAYS: setting(integer(0, 3650, 90), 'Days for which the access log is kept. 0: no access log.'),
};

const redisUrl = text.refine(isRedisUrl, {
  error: 'must be redis://:password@host:port or rediss://…, with the number of a database if need be',
});

function isRedisUrl(value: string): boolean {
  const url = /^rediss?:\/\/[^/?#]+(\/\d{0,5})?$/.test(value) ? parseUrl(value) : null;
  if (url === null || url.hostname === '') return false;
  try {
    decodeURIComponent(`${url.username}:${url.password}`);
    return true;
  } catch {
    return false; // A percent sign that starts no valid escape.
  }
}

/** Settings of Redis, through which several processes share their limits. */
export const REDIS_SETTINGS = {
  REDIS_URL: secret(
    redisUrl.optional(),
    'Redis in which several processes count their limits together, by BASE_URL. Empty: each process counts alone.',
  ),
  REDIS_CA_FILE: setting(
    certificates.optional(),
    'PEM file with the certificate authorities of a rediss:// server. Default: those of Node.js.',
  ),
};

export interface RedisConfig {
  /** Includes the password. */
  readonly url: string;
  /** Prefix of every key, followed by a colon. */
  readonly prefix: string;
  /** Certificates of the trusted authorities, as PEM. Null: the authorities that Node.js trusts. */
  readonly certificates: string | null;
}

export function buildRedis(
  settings: ValuesOf<typeof REDIS_SETTINGS> & Pick<ServiceSettings, 'BASE_URL'>,
): RedisConfig | null {
  const { REDIS_URL: url, REDIS_CA_FILE, BASE_URL } = settings;
  if (url === undefined) return null;
  // Without BASE_URL, replicas on different ports count as one installation.
  const { host, pathname } = new URL(BASE_URL ?? 'http://directory');
  const prefix = BASE_URL === undefined ? 'directory' : `directory:${host}${pathname.replace(/\/+$/, '')}`;
  return { url, prefix, certificates: REDIS_CA_FILE ?? null };
}

export const EXPLORER_SETTINGS = {
  EXPLORER: setting(
    trueOrFalse.optional(),
    'Serves the explorer. Default: false in production and while TRUSTED_DOCUMENTS is enforced, otherwise true.',
  ),
  EXPLORER_CLIENT_ID: setting(
    text.optional(),
    'Client id of the explorer at the identity provider, where its redirect URI is BASE_URL/explorer/callback. Default with the embedded provider: explorer.',
  ),
};

export interface ExplorerConfig {
  /** A public client of the identity provider. Null: the explorer offers no sign-in. */
  readonly clientId: string | null;
  readonly redirectUri: string;
}

/** @returns null when the explorer is not served */
export function buildExplorer(
  settings: ValuesOf<typeof EXPLORER_SETTINGS>,
  service: { readonly baseUrl: string; readonly isDefault: boolean; readonly issuer: string | null },
): ExplorerConfig | null {
  if (!(settings.EXPLORER ?? service.isDefault)) return null;
  return {
    clientId: settings.EXPLORER_CLIENT_ID ?? (service.issuer === null ? 'explorer' : null),
    redirectUri: `${service.baseUrl}/explorer/callback`,
  };
}

/** Id of the service account of the demonstration. */
export const DEMO_ACCOUNT = 'demo';

/**
 * Whether a request may use the embedded identity provider, which requires no password, and the account of the demonstration.
 * Without ALLOW_EMBEDDED, only requests to the local machine or to the host of BASE_URL may. Under DNS rebinding, the Host
 * header has the name that the attacker resolves to this machine.
 * @param host the unparsed Host header field
 */
export function mayUseEmbedded(
  { allowEmbedded, baseUrl }: Pick<ReturnType<typeof buildService>, 'allowEmbedded' | 'baseUrl'>,
  host: string | undefined,
): boolean {
  if (allowEmbedded) return true;
  const name = readHost(host);
  return name !== null && (isLoopback(name) || name === hostOf(new URL(baseUrl)));
}

/** The reason for rejecting such a request. */
export const EMBEDDED_REFUSAL =
  'The embedded identity provider and the account of the demonstration only answer requests to localhost, or to the host of BASE_URL: ' +
  'set BASE_URL to the address that you use, or ALLOW_EMBEDDED=true';
