import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { faultOfWebsite, parseUrl } from '../common/url.js';
import { baseDn } from './model/model.schema.js';
import { DEFAULT_DATABASE, SAMPLE_CLIENTS, SAMPLE_DIRECTORY } from './paths.js';
import { PROVIDER_NAMES } from './settings/providers.js';
import { manifest } from './settings/trusted-documents.js';

// A message is the end of a sentence whose subject is the setting.

const text = z.string().trim();
const textThat = (error: string, isValid: (value: string) => boolean) => text.refine(isValid, error);

const wholeNumber = (minimum: number, maximum: number) =>
  textThat(
    `must be a whole number from ${minimum} to ${maximum}`,
    (value) => /^\d{1,9}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum,
  ).transform(Number);

const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  text.pipe(z.enum(names, `must be ${names.slice(0, -1).join(', ')} or ${String(names.at(-1))}`));

const trueOrFalse = text.pipe(
  z.stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' }),
);

const list = text.transform((value) => value.split(/\s*,\s*/).filter((item) => item !== ''));
const listOf = (error: string, isValid: (item: string) => boolean) =>
  list.refine((items) => items.length > 0 && items.every(isValid), error);

/** Without user information, because the URL appears in logs and responses. */
const httpUrl = textThat(
  'must be an http or https URL without query, fragment or password',
  (value) => faultOfWebsite(value) === null && !/[?#]/.test(value),
);

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates of a PEM file. TLS ignores what it cannot parse, and would then trust no server. */
const certificates = text.transform((file, context) => {
  try {
    const found = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
    const subjects = found.map((pem) => new X509Certificate(pem).subject);
    if (subjects.length > 0) return found.join('\n');
  } catch {
    // The file or a certificate cannot be read.
  }
  context.addIssue(`names a file without readable certificates in PEM: ${file}`);
  return z.NEVER;
});

const existing = textThat('names no file', existsSync);

const hostName = textThat(
  'must be a host name or an IP address',
  (value) =>
    /^[A-Za-z0-9.:-]+$/.test(value) &&
    parseUrl(`http://${value.includes(':') ? `[${value}]` : value}`) !== null,
);

/** Origins in the form that browsers send: nothing after the port, and no default port. */
const origins = listOf(
  'must be origins such as https://pages.example.org, separated by commas',
  (item) => /^https?:[^*]+$/.test(item) && parseUrl(item)?.origin === item,
);

const addressOrNetwork = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const proxies = listOf(
  'must be IP addresses or networks such as 10.0.0.0/8, separated by commas',
  (item) => addressOrNetwork.safeParse(item).success,
);

const isPostgresUrl = (value: string) => /^postgres(ql)?:\/\//.test(value) && parseUrl(value) !== null;
const postgresUrl = textThat('must be postgres://user:password@host/database', isPostgresUrl);
const databaseUrl = textThat(
  'must be postgres://user:password@host/database or embedded:directory',
  (value) => /^embedded:.+/.test(value) || isPostgresUrl(value),
);

const redisUrl = textThat(
  'must be redis://:password@host:port or rediss://…, with the number of a database if need be',
  (value) => {
    const url = /^rediss?:\/\/[^/?#]+(\/\d{0,5})?$/.test(value) ? parseUrl(value) : null;
    // A percent sign may start no valid escape.
    return url !== null && url.hostname !== '' && !/%(?![\da-f]{2})/i.test(url.username + url.password);
  },
);

const isLdapUrl = (url: string) =>
  /^ldaps?:\/\/[^/?#@]+\/?$/i.test(url) && (parseUrl(url)?.hostname ?? '') !== '';

const directoryUrl = textThat(
  'must be ldap://host, ldaps://host, several of these, or file: and the path of an LDIF file',
  (value) => /^file:.+/.test(value) || value.split(/[\s,]+/).every(isLdapUrl),
);

const keys = listOf(
  'must be keys of at least 32 bytes in hexadecimal, separated by commas (openssl rand -hex 32)',
  (key) => /^([0-9a-f]{2}){32,128}$/i.test(key),
);

const claim = text.max(200, 'must be at most 200 characters');

/** All settings. docs/settings.md says what they mean, in the same order. */
export const SETTINGS = {
  HOST: hostName.default('127.0.0.1'),
  PORT: wholeNumber(1, 65_535).default(3000),
  BASE_URL: httpUrl.optional(),
  WORKERS: wholeNumber(1, 64).optional(),
  NODE_ENV: oneOf(['production', 'development', 'test']).default('development'),
  ALLOW_EMBEDDED: trueOrFalse.default(false),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'log', 'debug', 'verbose']).default('log'),
  TRUSTED_PROXIES: proxies.default([]),
  CORS_ORIGINS: origins.default([]),
  GRAPHQL_INTROSPECTION: trueOrFalse.optional(),

  LOG_FORMAT: oneOf(['json', 'text']).optional(),
  LOG_REQUESTS: trueOrFalse.default(true),
  METRICS_PORT: wholeNumber(1, 65_535).optional(),
  OTEL_SERVICE_NAME: text.default('directory-service'),

  DATABASE_URL: databaseUrl.default(`embedded:${DEFAULT_DATABASE}`),
  DATABASE_READ_URL: postgresUrl.optional(),
  DATABASE_POOL_SIZE: wholeNumber(1, 200).default(10),
  DATABASE_TIMEOUT_SECONDS: wholeNumber(1, 600).default(3),

  REDIS_URL: redisUrl.optional(),
  REDIS_CA_FILE: certificates.optional(),

  DIRECTORY_URL: directoryUrl.default(`file:${SAMPLE_DIRECTORY}`),
  DIRECTORY_STARTTLS: trueOrFalse.default(false),
  DIRECTORY_CA_FILE: certificates.optional(),
  DIRECTORY_CERT_FILE: existing.optional(),
  DIRECTORY_KEY_FILE: existing.optional(),
  DIRECTORY_SASL_EXTERNAL: trueOrFalse.default(false),
  DIRECTORY_BIND_DN: text.optional(),
  DIRECTORY_BIND_PASSWORD: z.string().optional(),
  DIRECTORY_BASE_DN: baseDn.default('dc=example,dc=org'),
  DIRECTORY_WEBHOOKS: text.optional(),
  DIRECTORY_MODEL: text.optional(),
  DIRECTORY_SYNC_SECONDS: wholeNumber(1, 86_400).default(30),
  DIRECTORY_SCAN_SECONDS: wholeNumber(1, 86_400).optional(),
  DIRECTORY_GUARD_PERCENT: wholeNumber(0, 100).default(5),
  DIRECTORY_CHANGES_DAYS: wholeNumber(1, 3650).default(30),

  AUTH_URL: httpUrl.optional(),
  AUTH_PROVIDER: text.toLowerCase().pipe(oneOf(PROVIDER_NAMES)).default('generic'),
  AUTH_TOKEN_TYPE: oneOf(['at+jwt', 'any']).optional(),
  AUTH_USER_CLAIM: claim.optional(),
  AUTH_USER_FIELD: text.optional(),
  AUTH_SCOPE_CLAIM: claim.optional(),
  AUTH_AUDIENCE: list.optional(),
  AUTH_CA_FILE: certificates.optional(),
  AUTH_INTROSPECTION_CLIENT_ID: text.optional(),
  AUTH_INTROSPECTION_CLIENT_SECRET: z.string().optional(),
  AUTH_INTROSPECTION_URL: httpUrl.optional(),
  AUTH_INTROSPECTION_NO_AUDIENCE: trueOrFalse.default(false),
  AUTH_EMBEDDED_CLIENTS: text.default(SAMPLE_CLIENTS),
  URL_SIGNING_KEYS: keys.optional(),

  EXPLORER: trueOrFalse.optional(),
  EXPLORER_CLIENT_ID: text.optional(),

  TRUSTED_DOCUMENTS: manifest.optional(),

  LIMIT_DEPTH: wholeNumber(1, 100).default(12),
  LIMIT_ALIASES: wholeNumber(0, 1000).default(30),
  LIMIT_TOKENS: wholeNumber(10, 100_000).default(1000),
  LIMIT_BODY_BYTES: wholeNumber(1000, 10_000_000).default(100_000),
  LIMIT_REQUEST_SECONDS: wholeNumber(1, 3600).default(30),
  LIMIT_CONNECTIONS: wholeNumber(1, 1_000_000).default(5000),
  LIMIT_NODES: wholeNumber(1, 1_000_000).default(20_000),
  LIMIT_POINTS_PER_HOUR: wholeNumber(1, 999_999_999).default(5000),
  LIMIT_REQUESTS_PER_MINUTE: wholeNumber(1, 999_999_999).default(300),
  LIMIT_FAILED_LOGINS: wholeNumber(1, 999_999_999).default(10),
  LIMIT_PREVIEWS: wholeNumber(1, 200).default(16),
  LIMIT_STREAMS: wholeNumber(0, 1_000_000).default(4000),
  LIMIT_STREAMS_PER_PRINCIPAL: wholeNumber(1, 1_000_000).default(20),
  RESPONSE_CACHE_MEGABYTES: wholeNumber(0, 100_000).default(128),

  ACCESS_LOG_DAYS: wholeNumber(0, 3650).default(90),
};

export type SettingName = keyof typeof SETTINGS;

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Secrets are never printed. NAME_FILE can name a file that contains the value. */
export const SECRETS: ReadonlySet<string> = new Set<SettingName>([
  ...(['DATABASE_URL', 'DATABASE_READ_URL', 'REDIS_URL', 'DIRECTORY_BIND_PASSWORD'] as const),
  ...(['AUTH_INTROSPECTION_CLIENT_SECRET', 'URL_SIGNING_KEYS'] as const),
]);

export type Settings = Readonly<z.output<z.ZodObject<typeof SETTINGS>>>;
