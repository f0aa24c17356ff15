import { readFileSync } from 'node:fs';
import { deepFreeze } from '../common/deep-freeze.js';
import { availableParallelism } from 'node:os';
import { type AuthConfig, buildAuth, findUserFieldProblems } from './settings/auth.js';
import { findContradictions } from './contradictions.js';
import { buildDatabase, type DatabaseConfig } from './settings/database.js';
import { buildDirectory, type DirectoryConfig, modelFileOf, withServer } from './settings/directory.js';
import { buildExplorer, type ExplorerConfig } from './settings/explorer.js';
import { buildLimits, type LimitsConfig } from './settings/limits.js';
import { buildScopes } from './model/build-visibility.js';
import { describeConflicts } from './model/check-attributes.js';
import { findBaseDnProblem } from './model/model-values.js';
import type { Model } from './model/model.schema.js';
import { DEFAULT_PRESET, type PresetName } from './model/presets/presets.js';
import { findServerFilters } from './model/server-filters.js';
import { NO_MODEL, type ReadModel, readModel } from './model/read-model.js';
import type { ScopeDefinition } from './scopes.js';
import { buildMonitoring, type MonitoringConfig } from './settings/monitoring.js';
import { buildRedis, type RedisConfig } from './settings/redis.js';
import { baseUrlOf } from './settings/service.js';
import { buildTrustedDocuments, type TrustedDocumentsConfig } from './settings/trusted-documents.js';
import { readWebhooks, type WebhookTarget } from './webhooks/webhook-file.js';
import { type SettingName, SETTINGS, type Settings } from './settings.js';

/** The whole configuration. It is frozen and does not change while the process runs. */
export interface Config {
  readonly production: boolean;
  readonly allowEmbedded: boolean;
  readonly host: string;
  readonly port: number;
  /** Number of processes that serve requests. */
  readonly workers: number;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** The path of `baseUrl`, without a trailing slash: empty when the service is at the root of its host. */
  readonly basePath: string;
  readonly logLevel: Settings['LOG_LEVEL'];
  readonly monitoring: MonitoringConfig;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** Whether clients can introspect the schema, and whether errors suggest names. */
  readonly disclosure: { readonly introspection: boolean; readonly suggestions: boolean };
  /** Null: each process has its own counters. */
  readonly redis: RedisConfig | null;
  readonly database: DatabaseConfig;
  readonly directory: DirectoryConfig;
  /** The path of the model file. Null: the built-in model. */
  readonly modelFile: string | null;
  /** Its text when it was read. */
  readonly modelText: string | null;
  readonly model: Model;
  /** The scopes of the service: those of the built-in schema, and then those of the model. */
  readonly scopes: readonly ScopeDefinition[];
  /** Receivers to which changes are sent. */
  readonly webhooks: readonly WebhookTarget[];
  readonly auth: AuthConfig;
  /** Null: the explorer is not served. */
  readonly explorer: ExplorerConfig | null;
  /** Null: clients may send all documents. */
  readonly trustedDocuments: TrustedDocumentsConfig | null;
  /** Keys of at least 32 bytes; null: generated and kept in the database. */
  readonly urlSigningKeys: readonly Buffer[] | null;
  readonly limits: LimitsConfig;
  /** Retention of the access log in days. 0: the service keeps no access log. */
  readonly accessLogDays: number;
}

/** The environment is not usable. `problems` has one line for each problem, with all problems at once. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** Returns the problems of a ConfigError that the attempt throws. */
export function configProblems(attempt: () => unknown): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment into a Config. No other module reads settings from it.
 * @param findMore finds problems of files that the settings name, to be reported together with all others
 * @throws ConfigError with every problem found
 */
export function readConfig(
  environment: Environment = process.env,
  findMore: (config: Config) => readonly string[] = () => [],
): Config {
  const { settings, problems } = readSettings(environment);
  const modelFile = modelFileOf(settings);
  const isFile = settings.DIRECTORY_URL.startsWith('file:');
  // A file has no server that could be recognized.
  const model = modelFile === undefined ? NO_MODEL : readModel(modelFile, isFile ? DEFAULT_PRESET : null);
  const built = buildConfig(settings, model, environment['DIRECTORY_BIND_PASSWORD_FILE'] || null);
  const webhooks = readWebhooks(settings.DIRECTORY_WEBHOOKS, built.scopes);
  const config = { ...built, webhooks: webhooks.targets };
  const all = [
    ...[...problems.values()].flat(),
    ...findContradictions(settings, new Set(problems.keys())),
    ...findBaseDnProblem(settings.DIRECTORY_BASE_DN),
    ...model.problems,
    ...(model.problems.length === 0
      ? findUserFieldProblems(built.auth, built.directory.mapping.users.fields)
      : []),
    ...webhooks.problems,
    ...(isFile ? findServerFilters(model, settings.DIRECTORY_MODEL) : []),
    ...findMore(config),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return deepFreeze(config);
}

/** The values of all settings, with the contents of files for those that are read at once. */
export function readValues(environment: Environment = process.env): Settings {
  return readSettings(environment).settings;
}

/** Reads the environment as if it named no model file. */
export function readConfigWithoutModel(environment: Environment = process.env): Config {
  return readConfig({ ...environment, DIRECTORY_MODEL: '' });
}

/**
 * Returns the configuration with the preset of a server that was recognized, unless the model names the kind of server.
 * @throws ConfigError if fields of the model conflict with those of the preset
 */
export function configFor(config: Config, server: PresetName): Config {
  const { directory, model, modelFile, modelText } = config;
  if (directory.isServerGiven) return config;
  const conflicts = describeConflicts(model, modelText, server);
  if (conflicts.length > 0) throw new ConfigError(conflicts.map((each) => `${modelFile ?? ''}:${each}`));
  if (directory.server === server) return config;
  return deepFreeze({ ...config, directory: withServer(directory, model, server) });
}

/** Connections of a worker to PostgreSQL: a long statement must not hold up all others. */
const LEAST_CONNECTIONS = 2;

type Problems = Map<SettingName, string[]>;

/** Uses the default of an invalid setting, so that the other settings can be checked too. */
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

/** An empty variable counts as absent: compose files spell «not set» that way. */
function readVariable(environment: Environment, name: SettingName, problems: string[]): string | undefined {
  const isAbsent = environment[name] === '';
  const value = isAbsent ? undefined : environment[name];
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

type Built = Omit<Config, 'webhooks'>;

function buildConfig(settings: Settings, { model, yaml }: ReadModel, passwordFile: string | null): Built {
  const baseUrl = baseUrlOf(settings);
  const production = settings.NODE_ENV === 'production';
  const auth = buildAuth(settings, baseUrl);
  const trustedDocuments = buildTrustedDocuments(settings);
  return {
    production,
    allowEmbedded: settings.ALLOW_EMBEDDED,
    host: settings.HOST,
    port: settings.PORT,
    workers: workersOf(settings),
    baseUrl,
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    logLevel: settings.LOG_LEVEL,
    monitoring: buildMonitoring(settings, { host: settings.HOST, production }),
    trustedProxies: settings.TRUSTED_PROXIES,
    corsOrigins: settings.CORS_ORIGINS,
    disclosure: {
      introspection: settings.GRAPHQL_INTROSPECTION ?? !production,
      suggestions: settings.GRAPHQL_SUGGESTIONS ?? !production,
    },
    database: buildDatabase(settings, settings.LIMIT_PREVIEWS),
    redis: buildRedis(settings, settings.BASE_URL),
    directory: buildDirectory(settings, model, passwordFile),
    modelFile: yaml === null ? null : (modelFileOf(settings) ?? null),
    modelText: yaml?.text ?? null,
    model,
    scopes: buildScopes(model),
    auth,
    explorer: buildExplorer(settings, {
      baseUrl,
      isDefault: !production && trustedDocuments?.isEnforced !== true,
      issuer: auth.issuer,
    }),
    trustedDocuments,
    urlSigningKeys: settings.URL_SIGNING_KEYS?.map((key) => Buffer.from(key, 'hex')) ?? null,
    limits: buildLimits(settings),
    accessLogDays: settings.ACCESS_LOG_DAYS,
  };
}

/** The embedded identity provider keeps its sessions in one process. */
function workersOf({ WORKERS, AUTH_URL }: Settings): number {
  if (AUTH_URL === undefined) return 1;
  return WORKERS ?? availableParallelism();
}

/** The configuration of one of several workers, which share connections and previews. */
export function configOfWorker(config: Config): Config {
  const { database, limits, workers } = config;
  if (workers === 1) return config;
  const shareOf = (sum: number) => Math.ceil(sum / workers);
  const poolSize = Math.max(LEAST_CONNECTIONS, shareOf(database.poolSize));
  const previewPoolSize = shareOf(database.previewPoolSize);
  return deepFreeze({
    ...config,
    database: { ...database, poolSize, previewPoolSize },
    limits: {
      ...limits,
      connections: shareOf(limits.connections),
      streams: shareOf(limits.streams),
    },
  });
}
