import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type SettingName, SETTINGS, type Settings } from './settings.js';

/** The whole configuration. Frozen: what was true at start stays true. */
export interface Config {
  readonly production: boolean;
  readonly allowEmbedded: boolean;
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** The path of `baseUrl`, without a trailing slash: empty when the service is at the root of its host. */
  readonly basePath: string;
  readonly logLevel: Settings['LOG_LEVEL'];
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** What clients are told of the schema beyond what they ask for. */
  readonly disclosure: { readonly introspection: boolean; readonly suggestions: boolean };
  /** Null: each process counts on its own. */
  readonly redis: RedisConfig | null;
  readonly database:
    | { readonly kind: 'pglite'; readonly directory: string }
    | {
        readonly kind: 'postgres';
        readonly url: string;
        /** Read replicas of it. */
        readonly replicaUrls: readonly string[];
        readonly poolSize: number;
        readonly previewPoolSize: number;
      };
  readonly directory: DirectoryConfig;
  readonly auth: AuthConfig;
  /** Keys of at least 32 bytes; null: generated and kept in the database. */
  readonly urlSigningKeys: readonly Buffer[] | null;
  readonly limits: LimitsConfig;
}

export interface RedisConfig {
  /** With its password. */
  readonly url: string;
  /** What every key begins with, before a colon. */
  readonly prefix: string;
  /** Certificates of the authorities to trust, as PEM; null: those that Node.js trusts. */
  readonly certificates: string | null;
}

export interface DirectoryConfig {
  readonly source: FileSourceConfig | LdapSourceConfig;
  readonly baseDn: string;
  readonly syncSeconds: number;
  readonly mapping: DirectoryMapping;
  readonly guard: { readonly percent: number; readonly windowSeconds: number };
  /** Days for which changes are kept. */
  readonly changesDays: number;
}

export interface FileSourceConfig {
  readonly kind: 'file';
  /** Absolute path of the LDIF file. */
  readonly file: string;
}

export interface LdapSourceConfig {
  readonly kind: 'ldap';
  /** As it was given. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly security: 'none' | 'starttls' | 'ldaps';
  /** Certificates of the authorities to trust, as PEM; null: those that Node.js trusts. */
  readonly certificates: string | null;
  /** Null: nobody, an anonymous connection. */
  readonly bind: { readonly dn: string; readonly password: string } | null;
}

/** Where people and groups are and what their attributes are called: vendor differences are data, not code. */
export interface DirectoryMapping {
  readonly people: EntryMapping & {
    readonly givenName: string;
    readonly familyName: string;
    readonly email: string;
    readonly schoolYear: string;
    readonly photo: string;
    readonly picture: string;
  };
  readonly groups: EntryMapping & {
    readonly description: string;
    readonly email: string;
    readonly website: string;
    readonly member: string;
    readonly admin: string;
    readonly owner: string;
    /** Object classes of a group that is made anew. */
    readonly classes: readonly string[];
  };
}

/** What the mapping of every entry has. */
export interface EntryMapping {
  readonly base: string;
  readonly filter: string;
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly id: string;
  /** The first that is there counts. */
  readonly name: readonly string[];
}

export interface AuthConfig {
  /** The external issuer; null: the embedded identity provider. */
  readonly issuer: string | null;
  readonly audience: string;
  readonly introspection: { readonly clientId: string; readonly clientSecret: string } | null;
  /** Absolute path of the file with the embedded provider's clients. */
  readonly embeddedClients: string;
}

export interface LimitsConfig {
  readonly depth: number;
  readonly aliases: number;
  readonly directives: number;
  readonly rootFields: number;
  readonly tokens: number;
  readonly bodyBytes: number;
  readonly nodes: number;
  readonly pointsPerHour: number;
  readonly requestsPerMinute: number;
  readonly failedLogins: number;
  readonly answerCacheMegabytes: number;
}

/** The environment cannot be used as it is: one line for each problem, all of them at once. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment into a Config. This is the only place that reads it.
 * @throws ConfigError with every problem found
 */
export function readConfig(environment: Environment = process.env): Config {
  const { settings, problems } = readSettings(environment);
  const config = buildConfig(settings);
  const all = [...problems.values(), contradictions(settings, config, new Set(problems.keys()))].flat();
  if (all.length > 0) throw new ConfigError(all);
  return deepFreeze(config);
}

type Problems = Map<SettingName, string[]>;

/** A setting that cannot be used is taken for its default, so that the others can be looked at all the same. */
function readSettings(environment: Environment): { settings: Settings; problems: Problems } {
  const settings: Partial<Record<SettingName, unknown>> = {};
  const problems: Problems = new Map();
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    const { schema } = SETTINGS[name];
    const found: string[] = [];
    const result = schema.safeParse(readVariable(environment, name, found));
    if (!result.success) found.push(...result.error.issues.map((issue) => `${name} ${issue.message}`));
    settings[name] = result.success ? result.data : schema.parse(undefined);
    if (found.length > 0) problems.set(name, found);
  }
  return { settings: settings as Settings, problems };
}

/** An empty variable counts as absent: that is how compose files and unit files spell «not set». */
function readVariable(environment: Environment, name: SettingName, problems: string[]): string | undefined {
  const value = environment[name] === '' ? undefined : environment[name];
  if (!('secret' in SETTINGS[name])) return value;
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') return value;
  if (value !== undefined) {
    problems.push(`${name} and ${name}_FILE are both set: only one can be meant`);
    return undefined;
  }
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (text.trim() !== '') return text;
    problems.push(`${name}_FILE names a file that is empty: ${file}`);
  } catch {
    problems.push(`${name}_FILE names a file that cannot be read: ${file}`);
  }
  return undefined;
}

function buildConfig(settings: Settings): Config {
  const host = settings.HOST.includes(':') ? `[${settings.HOST}]` : settings.HOST;
  const baseUrl = (settings.BASE_URL ?? `http://${host}:${settings.PORT}`).replace(/\/+$/, '');
  const production = settings.NODE_ENV === 'production';
  return {
    production,
    allowEmbedded: settings.ALLOW_EMBEDDED,
    host: settings.HOST,
    port: settings.PORT,
    baseUrl,
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    logLevel: settings.LOG_LEVEL,
    trustedProxies: settings.TRUSTED_PROXIES,
    corsOrigins: settings.CORS_ORIGINS,
    disclosure: {
      introspection: settings.GRAPHQL_INTROSPECTION ?? !production,
      suggestions: settings.GRAPHQL_SUGGESTIONS ?? !production,
    },
    redis: buildRedis(settings),
    database: settings.DATABASE_URL.startsWith('pglite:')
      ? { kind: 'pglite', directory: resolve(settings.DATABASE_URL.slice('pglite:'.length)) }
      : {
          kind: 'postgres',
          url: settings.DATABASE_URL,
          replicaUrls: settings.DATABASE_REPLICA_URLS,
          poolSize: settings.DATABASE_POOL_SIZE,
          previewPoolSize: settings.LIMIT_PREVIEWS,
        },
    directory: buildDirectory(settings),
    auth: {
      issuer: settings.AUTH_URL?.replace(/\/+$/, '') ?? null,
      audience: settings.AUTH_AUDIENCE ?? baseUrl,
      introspection:
        settings.AUTH_INTROSPECTION_CLIENT_ID === undefined ||
        settings.AUTH_INTROSPECTION_CLIENT_SECRET === undefined
          ? null
          : {
              clientId: settings.AUTH_INTROSPECTION_CLIENT_ID,
              clientSecret: settings.AUTH_INTROSPECTION_CLIENT_SECRET,
            },
      embeddedClients: resolve(settings.AUTH_EMBEDDED_CLIENTS),
    },
    urlSigningKeys: settings.URL_SIGNING_KEYS?.map((key) => Buffer.from(key, 'hex')) ?? null,
    limits: {
      depth: settings.LIMIT_DEPTH,
      aliases: settings.LIMIT_ALIASES,
      directives: settings.LIMIT_DIRECTIVES,
      rootFields: settings.LIMIT_ROOT_FIELDS,
      tokens: settings.LIMIT_TOKENS,
      bodyBytes: settings.LIMIT_BODY_BYTES,
      nodes: settings.LIMIT_NODES,
      pointsPerHour: settings.LIMIT_POINTS_PER_HOUR,
      requestsPerMinute: settings.LIMIT_REQUESTS_PER_MINUTE,
      failedLogins: settings.LIMIT_FAILED_LOGINS,
      answerCacheMegabytes: settings.ANSWER_CACHE_MEGABYTES,
    },
  };
}

function buildRedis(settings: Settings): RedisConfig | null {
  if (settings.REDIS_URL === undefined) return null;
  // Replicas on ports of their own are one installation, unless they say where clients find them.
  const { host, pathname } = new URL(settings.BASE_URL ?? 'http://directory');
  const own = `directory:${host}${pathname.replace(/\/+$/, '')}`;
  return {
    url: settings.REDIS_URL,
    prefix: settings.REDIS_PREFIX ?? (settings.BASE_URL === undefined ? 'directory' : own),
    certificates: settings.REDIS_CA_FILE ?? null,
  };
}

function buildDirectory(settings: Settings): DirectoryConfig {
  const below = (base: string) =>
    base === '' ? settings.DIRECTORY_BASE_DN : `${base},${settings.DIRECTORY_BASE_DN}`;
  const everyEntry = {
    uuid: settings.DIRECTORY_ENTRY_UUID,
    createdAt: settings.DIRECTORY_CREATED_AT,
    modifiedAt: settings.DIRECTORY_MODIFIED_AT,
  };
  return {
    source: buildSource(settings),
    baseDn: settings.DIRECTORY_BASE_DN,
    syncSeconds: settings.DIRECTORY_SYNC_SECONDS,
    mapping: {
      people: {
        ...everyEntry,
        base: below(settings.DIRECTORY_PEOPLE_BASE),
        filter: settings.DIRECTORY_PEOPLE_FILTER,
        id: settings.DIRECTORY_USER_ID,
        name: settings.DIRECTORY_USER_NAME,
        givenName: settings.DIRECTORY_USER_GIVEN_NAME,
        familyName: settings.DIRECTORY_USER_FAMILY_NAME,
        email: settings.DIRECTORY_USER_EMAIL,
        schoolYear: settings.DIRECTORY_USER_SCHOOL_YEAR,
        photo: settings.DIRECTORY_USER_PHOTO,
        picture: settings.DIRECTORY_USER_PICTURE,
      },
      groups: {
        ...everyEntry,
        base: below(settings.DIRECTORY_GROUPS_BASE),
        filter: settings.DIRECTORY_GROUPS_FILTER,
        id: settings.DIRECTORY_GROUP_ID,
        name: settings.DIRECTORY_GROUP_NAME,
        description: settings.DIRECTORY_GROUP_DESCRIPTION,
        email: settings.DIRECTORY_GROUP_EMAIL,
        website: settings.DIRECTORY_GROUP_WEBSITE,
        member: settings.DIRECTORY_GROUP_MEMBER,
        admin: settings.DIRECTORY_GROUP_ADMIN,
        owner: settings.DIRECTORY_GROUP_OWNER,
        classes: settings.DIRECTORY_GROUP_CLASSES,
      },
    },
    guard: { percent: settings.DIRECTORY_GUARD_PERCENT, windowSeconds: settings.DIRECTORY_GUARD_SECONDS },
    changesDays: settings.DIRECTORY_CHANGES_DAYS,
  };
}

function buildSource(settings: Settings): DirectoryConfig['source'] {
  const { DIRECTORY_URL: url } = settings;
  if (url.startsWith('file:')) return { kind: 'file', file: resolve(url.slice('file:'.length)) };
  const { protocol, hostname, port } = new URL(url);
  const isTls = protocol === 'ldaps:';
  return {
    kind: 'ldap',
    url,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isTls ? 636 : 389) : Number(port),
    security: isTls ? 'ldaps' : settings.DIRECTORY_STARTTLS ? 'starttls' : 'none',
    certificates: settings.DIRECTORY_CA_FILE ?? null,
    bind:
      settings.DIRECTORY_BIND_DN === undefined
        ? null
        : { dn: settings.DIRECTORY_BIND_DN, password: settings.DIRECTORY_BIND_PASSWORD ?? '' },
  };
}

/**
 * What is wrong although each setting on its own is right.
 * @param wrong settings whose value is not the one that was meant: nothing is concluded from them
 */
function contradictions(settings: Settings, config: Config, wrong: ReadonlySet<SettingName>): string[] {
  const problems: string[] = [];
  if (
    (settings.AUTH_INTROSPECTION_CLIENT_ID === undefined) !==
      (settings.AUTH_INTROSPECTION_CLIENT_SECRET === undefined) &&
    !wrong.has('AUTH_INTROSPECTION_CLIENT_SECRET')
  ) {
    problems.push(
      'AUTH_INTROSPECTION_CLIENT_ID and AUTH_INTROSPECTION_CLIENT_SECRET go together: only one is set',
    );
  }
  const hasBindDn = settings.DIRECTORY_BIND_DN !== undefined;
  if (
    hasBindDn !== (settings.DIRECTORY_BIND_PASSWORD !== undefined) &&
    !wrong.has('DIRECTORY_BIND_PASSWORD')
  ) {
    problems.push('DIRECTORY_BIND_DN and DIRECTORY_BIND_PASSWORD go together: only one is set');
  }
  if (
    settings.DIRECTORY_STARTTLS &&
    !settings.DIRECTORY_URL.startsWith('ldap:') &&
    !wrong.has('DIRECTORY_URL')
  ) {
    problems.push('DIRECTORY_STARTTLS only goes with a DIRECTORY_URL that begins with ldap://');
  }
  if (
    settings.DATABASE_REPLICA_URLS.length > 0 &&
    config.database.kind === 'pglite' &&
    !wrong.has('DATABASE_URL')
  ) {
    problems.push(
      'DATABASE_REPLICA_URLS only goes with a DATABASE_URL that begins with postgres://: an embedded database has no replicas',
    );
  }
  if (
    settings.REDIS_CA_FILE !== undefined &&
    settings.REDIS_URL?.startsWith('rediss:') !== true &&
    !wrong.has('REDIS_URL')
  ) {
    problems.push('REDIS_CA_FILE only goes with a REDIS_URL that begins with rediss://');
  }
  if (config.production && !config.allowEmbedded && !wrong.has('ALLOW_EMBEDDED')) {
    const refused = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
    if (config.database.kind === 'pglite' && !wrong.has('DATABASE_URL'))
      problems.push(`DATABASE_URL ${refused}: set postgres://…`);
    if (config.auth.issuer === null && !wrong.has('AUTH_URL'))
      problems.push(`AUTH_URL is empty: the identity provider ${refused}`);
    if (config.urlSigningKeys === null && !wrong.has('URL_SIGNING_KEYS'))
      problems.push(`URL_SIGNING_KEYS is empty: the generated key ${refused}`);
  }
  return problems;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
