import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { deepFreeze } from '../common/deep-freeze.js';
import { buildScopes } from './model/build-mapping.js';
import type { PresetName } from './model/presets/presets.js';
import { checkModel, NO_MODEL, type ReadModel, readModel } from './model/read-model.js';
import { describeProblems, didYouMean } from './model/yaml-file.js';
import { type SettingName, SETTING_NAMES, SECRETS, SETTINGS, type Settings, splitUrls } from './settings.js';
import { buildAuth, findUserFieldProblems } from './settings/auth.js';
import { buildDatabase, isEmbedded } from './settings/database.js';
import { buildDirectory, modelFileOf, namesSampleDirectory, withServer } from './settings/directory.js';
import { buildExplorer, buildLimits, buildMonitoring, buildRedis, buildService } from './settings/service.js';
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
  const { settings, problems, wrong } = readSettings(environment);
  const modelFile = modelFileOf(settings);
  const isOfFile = settings.DIRECTORY_URL.startsWith('file:');
  const read = modelFile === undefined ? NO_MODEL : readModel(modelFile, isOfFile);
  const built = buildConfig(settings, read, environment['DIRECTORY_BIND_PASSWORD_FILE'] || null);
  const webhooks = readWebhooks(settings.DIRECTORY_WEBHOOKS, built.scopes);
  const config = { ...built, webhooks: webhooks.targets };
  const { users } = built.directory.mapping;
  const all = [
    ...problems,
    ...findUnknown(environment),
    ...findContradictions(settings, wrong),
    ...read.problems,
    ...(read.problems.length === 0 ? findUserFieldProblems(built.auth, users.fields) : []),
    ...webhooks.problems,
    ...findMore(config),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return deepFreeze(config);
}

/** Kubernetes sets such variables in a pod for each service, such as one with the name `directory`. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\d+_(?:TCP|UDP)\w*)?)$/;

/** Finds variables that begin like the settings of the directory, and are none. */
function findUnknown(environment: Environment): string[] {
  const isOfDirectory = (name: string) => name.startsWith('DIRECTORY_');
  const known = SETTING_NAMES.flatMap((name) => (SECRETS.has(name) ? [name, `${name}_FILE`] : [name])).filter(
    isOfDirectory,
  );
  return Object.keys(environment)
    .filter((name) => isOfDirectory(name) && environment[name] !== '' && !OF_KUBERNETES.test(name))
    .filter((name) => !known.includes(name))
    .map((name) => `${name} is not a setting. ${didYouMean(name, known)}`);
}

/** One day more than a delivery is repeated. */
const MIN_DAYS_OF_WEBHOOKS = 4;
/** Settings of the embedded provider, and of those that have AUTH_URL. All other settings of AUTH only go with AUTH_URL. */
const WITHOUT_AUTH_URL: readonly string[] = ['AUTH_AUDIENCE', 'AUTH_CA_FILE', 'AUTH_EMBEDDED_CLIENTS'];

/** Contradictions between valid settings that would be unsafe, or that nothing else would report, and whether they exist. */
function contradictionsOf(settings: Settings): (readonly [exists: boolean, problem: string])[] {
  const { AUTH_URL, DIRECTORY_BIND_DN, DIRECTORY_CERT_FILE, DIRECTORY_STARTTLS } = settings;
  const pairOf = (left: SettingName, right: SettingName) =>
    [
      (settings[left] === undefined) !== (settings[right] === undefined),
      `${left} and ${right} go together: only one is set`,
    ] as const;
  const areTls = splitUrls(settings.DIRECTORY_URL).map((url) => DIRECTORY_STARTTLS || /^ldaps:/i.test(url));
  const tls = 'TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
  const ofAuth = SETTING_NAMES.filter((name) => name.startsWith('AUTH_') && !WITHOUT_AUTH_URL.includes(name));
  const useless = ofAuth.filter(
    (name) => ![undefined, false, 'generic'].includes(settings[name] as undefined),
  );
  const isGuarded = settings.NODE_ENV === 'production' && !settings.ALLOW_EMBEDDED;
  const refused = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
  return [
    pairOf('AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'),
    pairOf('DIRECTORY_BIND_DN', 'DIRECTORY_BIND_PASSWORD'),
    pairOf('DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'),
    [
      settings.DIRECTORY_SASL_EXTERNAL &&
        (DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined),
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [
      areTls.includes(false) && DIRECTORY_CERT_FILE !== undefined,
      `DIRECTORY_CERT_FILE only goes with ${tls}`,
    ],
    [
      !areTls.includes(true) && settings.DIRECTORY_CA_FILE !== undefined,
      `DIRECTORY_CA_FILE only goes with ${tls}`,
    ],
    [AUTH_URL === undefined && useless.length > 0, `${useless.join(' and ')} only goes with AUTH_URL`],
    [
      settings.DIRECTORY_WEBHOOKS !== undefined && settings.DIRECTORY_CHANGES_DAYS < MIN_DAYS_OF_WEBHOOKS,
      `DIRECTORY_CHANGES_DAYS must be at least ${MIN_DAYS_OF_WEBHOOKS} with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days`,
    ],
    [
      isEmbedded(settings) && settings.DATABASE_READ_URL !== undefined,
      'DATABASE_READ_URL only goes with a DATABASE_URL that begins with postgres://: an embedded database has no standby',
    ],
    [isGuarded && isEmbedded(settings), `DATABASE_URL ${refused}: set postgres://…`],
    [isGuarded && AUTH_URL === undefined, `AUTH_URL is empty: the identity provider ${refused}`],
    [
      isGuarded && settings.URL_SIGNING_KEYS === undefined,
      `URL_SIGNING_KEYS is empty: the generated key ${refused}`,
    ],
    [
      isGuarded && namesSampleDirectory(settings),
      `DIRECTORY_URL is empty or names the sample: that directory ${refused}`,
    ],
  ];
}

/** Nothing is concluded from settings that are wrong. */
function findContradictions(settings: Settings, wrong: readonly SettingName[]): string[] {
  const isAboutWrong = (problem: string) => wrong.some((name) => new RegExp(`\\b${name}\\b`).test(problem));
  return contradictionsOf(settings).flatMap(([exists, problem]) =>
    exists && !isAboutWrong(problem) ? [problem] : [],
  );
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
  const { problems } = checkModel(modelText ?? '#', server);
  const conflicts = describeProblems(modelFile ?? '', problems);
  if (conflicts.length > 0)
    throw new ConfigError(conflicts.map((each) => `${each}, on a server of the kind ${server}`));
  if (directory.server === server) return config;
  return deepFreeze({ ...config, directory: withServer(directory, model, server) });
}

/** Connections of a worker to PostgreSQL: a long statement must not hold up all others. */
const LEAST_CONNECTIONS = 2;

interface ReadSettings {
  readonly settings: Settings;
  readonly problems: readonly string[];
  /** Names of settings that have problems. */
  readonly wrong: readonly SettingName[];
}

/** Uses the default of an invalid setting, so that the other settings can be checked too. */
function readSettings(environment: Environment): ReadSettings {
  const schema = z.object(SETTINGS);
  const read = SETTING_NAMES.map((name) => [name, readVariable(environment, name)] as const);
  const values = Object.fromEntries(read.map(([name, { value }]) => [name, value]));
  const issues = schema.safeParse(values).error?.issues ?? [];
  const problems = [
    ...read.flatMap(([name, { problem }]) => (problem === undefined ? [] : [{ name, problem }])),
    ...issues.map(({ path, message }) => ({
      name: path[0] as SettingName,
      problem: `${String(path[0])} ${message}`,
    })),
  ];
  const wrong = problems.map(({ name }) => name);
  const settings = schema.parse({ ...values, ...Object.fromEntries(wrong.map((name) => [name, undefined])) });
  return { settings, problems: problems.map(({ problem }) => problem), wrong };
}

/** An empty variable counts as absent: compose files spell «not set» that way. */
function readVariable(environment: Environment, name: SettingName): { value?: string; problem?: string } {
  const value = environment[name];
  const given = value === undefined || value === '' ? {} : { value };
  const file = SECRETS.has(name) ? environment[`${name}_FILE`] : undefined;
  if (file === undefined || file === '') return given;
  if (given.value !== undefined)
    return { problem: `${name} and ${name}_FILE are both set: only one can be meant` };
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return text.trim() === ''
      ? { problem: `${name}_FILE names a file that is empty: ${file}` }
      : { value: text };
  } catch {
    return { problem: `${name}_FILE names a file that cannot be read: ${file}` };
  }
}

function buildConfig(settings: Settings, { model, text }: ReadModel, passwordFile: string | null) {
  const service = buildService(settings);
  const { TRUSTED_DOCUMENTS: documents, TRUSTED_DOCUMENTS_MODE: mode } = settings;
  return {
    ...service,
    monitoring: buildMonitoring(settings),
    database: buildDatabase(settings),
    /** Null: each process has its own counters. */
    redis: buildRedis(settings),
    directory: buildDirectory(settings, model, passwordFile),
    /** The path of the model file. Null: the built-in model. */
    modelFile: text === null ? null : (modelFileOf(settings) ?? null),
    /** Its text when it was read. */
    modelText: text,
    model,
    /** The scopes of the service: those of the built-in schema, and then those of the model. */
    scopes: buildScopes(model),
    auth: buildAuth(settings, service.baseUrl),
    /** Null: the explorer is not served. */
    explorer: buildExplorer(settings, service.baseUrl),
    /** Documents by id, without the prefix `sha256:`, and whether others are refused or only logged. Null: clients may send all. */
    trustedDocuments: documents === undefined ? null : { documents, isEnforced: mode === 'refuse' },
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
