import { readFileSync } from 'node:fs';
import { deepFreeze } from '../common/deep-freeze.js';
import { findContradictions } from './contradictions.js';
import { buildScopes } from './model/build-mapping.js';
import { DEFAULT_PRESET, type PresetName } from './model/presets/presets.js';
import {
  describeConflicts,
  findServerFilters,
  NO_MODEL,
  type ReadModel,
  readModel,
} from './model/read-model.js';
import { closestTo } from './model/yaml-file.js';
import { type SettingName, SETTING_NAMES, SETTINGS, type Settings } from './settings.js';
import { buildAuth, findUserFieldProblems } from './settings/auth.js';
import { buildDatabase } from './settings/database.js';
import { buildDirectory, modelFileOf, withServer } from './settings/directory.js';
import { buildLimits } from './settings/limits.js';
import { buildExplorer, buildMonitoring, buildRedis, buildService } from './settings/service.js';
import { buildTrustedDocuments } from './settings/trusted-documents.js';
import { readWebhooks, type WebhookTarget } from './webhooks/webhook-file.js';

/** The whole configuration. It is frozen and does not change while the process runs. */
export interface Config extends Readonly<ReturnType<typeof buildConfig>> {
  /** Receivers to which changes are sent. */
  readonly webhooks: readonly WebhookTarget[];
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
  const read = modelFile === undefined ? NO_MODEL : readModel(modelFile, isFile ? DEFAULT_PRESET : null);
  const built = buildConfig(settings, read, environment['DIRECTORY_BIND_PASSWORD_FILE'] || null);
  const webhooks = readWebhooks(settings.DIRECTORY_WEBHOOKS, built.scopes);
  const config = { ...built, webhooks: webhooks.targets };
  const all = [
    ...[...problems.values()].flat(),
    ...findUnknown(environment),
    ...findContradictions(settings, [...problems.keys()]),
    ...read.problems,
    ...(read.problems.length === 0
      ? findUserFieldProblems(built.auth, built.directory.mapping.users.fields)
      : []),
    ...webhooks.problems,
    ...(isFile ? findServerFilters(read, modelFile ?? '') : []),
    ...findMore(config),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return deepFreeze(config);
}

/** Kubernetes sets such variables in a pod for each service, such as one with the name `directory`. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\d+_(?:TCP|UDP)\w*)?)$/;

/** Finds variables that begin like the settings of the directory, and are none. */
function findUnknown(environment: Environment): string[] {
  const prefix = 'DIRECTORY_';
  const known = SETTING_NAMES.filter((name) => name.startsWith(prefix))
    .flatMap((name) => ('secret' in SETTINGS[name] ? [name, `${name}_FILE`] : [name]))
    .map((name) => name.slice(prefix.length));
  return Object.keys(environment).flatMap((name) => {
    const rest = name.slice(prefix.length);
    const isOther = !name.startsWith(prefix) || environment[name] === '' || OF_KUBERNETES.test(name);
    if (isOther || known.includes(rest)) return [];
    const closest = closestTo(rest, known);
    const meant = closest === null ? '' : `did you mean ${prefix}${closest}? `;
    return [`${name} is not a setting: ${meant}The settings are ${prefix}… with ${known.join(', ')}`];
  });
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
  for (const name of SETTING_NAMES) {
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

function buildConfig(settings: Settings, { model, yaml }: ReadModel, passwordFile: string | null) {
  const service = buildService(settings, settings.AUTH_URL !== undefined);
  const { baseUrl, production } = service;
  const auth = buildAuth(settings, baseUrl);
  const trustedDocuments = buildTrustedDocuments(settings);
  const isDefault = !production && trustedDocuments?.isEnforced !== true;
  return {
    ...service,
    monitoring: buildMonitoring(settings),
    database: buildDatabase(settings, settings.LIMIT_PREVIEWS),
    /** Null: each process has its own counters. */
    redis: buildRedis(settings),
    directory: buildDirectory(settings, model, passwordFile),
    /** The path of the model file. Null: the built-in model. */
    modelFile: yaml === null ? null : (modelFileOf(settings) ?? null),
    /** Its text when it was read. */
    modelText: yaml?.text ?? null,
    model,
    /** The scopes of the service: those of the built-in schema, and then those of the model. */
    scopes: buildScopes(model),
    auth,
    /** Null: the explorer is not served. */
    explorer: buildExplorer(settings, { baseUrl, isDefault, issuer: auth.issuer }),
    /** Null: clients may send all documents. */
    trustedDocuments,
    /** Keys of at least 32 bytes; null: generated and kept in the database. */
    urlSigningKeys: settings.URL_SIGNING_KEYS?.map((key) => Buffer.from(key, 'hex')) ?? null,
    limits: buildLimits(settings),
    /** Retention of the access log in days. 0: the service keeps no access log. */
    accessLogDays: settings.ACCESS_LOG_DAYS,
  };
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
