import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { PresetName } from './model/presets/presets.js';
import { checkModel, readModel } from './model/read-model.js';
import { describeProblems, didYouMean } from './model/yaml-file.js';
import { BUILT_IN_SCOPES, type ScopeDefinition } from './scopes.js';
import { type SettingName, SETTING_NAMES, SECRETS, SETTINGS, type Settings } from './settings.js';
import { buildAuth, findUserFieldProblems } from './settings/auth.js';
import { buildDatabase, isEmbedded } from './settings/database.js';
import { buildDirectory, modelFileOf, namesSampleDirectory, withServer } from './settings/directory.js';
import { buildExplorer, buildLimits, buildMonitoring, buildRedis, buildService } from './settings/service.js';
import { readWebhooks, type WebhookTarget } from './webhooks/webhook-file.js';

/** The whole configuration. It does not change while the process runs. */
export type Config = Readonly<ReturnType<typeof buildConfig> & { webhooks: readonly WebhookTarget[] }>;

/** The environment is not usable. `problems` has one line for each problem, with all problems at once. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** The problems of a ConfigError that the attempt throws. */
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
  const read = readModel(modelFileOf(settings), settings.DIRECTORY_URL.startsWith('file:'));
  const built = buildConfig(settings, read, environment['DIRECTORY_BIND_PASSWORD_FILE'] || null);
  const webhooks = readWebhooks(settings.DIRECTORY_WEBHOOKS, built.scopes);
  const config = { ...built, webhooks: webhooks.targets };
  const all = [
    ...problems,
    ...findUnknown(environment),
    ...findContradictions(settings, wrong),
    ...read.problems,
    ...(read.problems.length === 0 ? findUserFieldProblems(built.auth, built.directory) : []),
    ...webhooks.problems,
    ...findMore(config),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return config;
}

/** Kubernetes sets such variables in a pod for each service, such as one with the name `directory`. */
const OF_KUBERNETES = /_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT(?:_\d+_(?:TCP|UDP)\w*)?)$/;

/** Finds variables that begin like the settings of the directory, and are none. */
function findUnknown(environment: Environment): string[] {
  const isOfDirectory = (name: string) => name.startsWith('DIRECTORY_');
  const known = [...SETTING_NAMES, ...[...SECRETS].map((name) => `${name}_FILE`)].filter(isOfDirectory);
  return Object.keys(environment)
    .filter((name) => isOfDirectory(name) && !known.includes(name) && !OF_KUBERNETES.test(name))
    .filter((name) => environment[name] !== '')
    .map((name) => `${name} is not a setting. ${didYouMean(name, known)}`);
}

/** Finds contradictions between settings that would be unsafe, or that nothing else would report. */
function findContradictions(settings: Settings, wrong: readonly SettingName[]): string[] {
  const { AUTH_URL, DIRECTORY_BIND_DN, DIRECTORY_CERT_FILE, DIRECTORY_CA_FILE } = settings;
  const pairOf = (left: SettingName, right: SettingName) =>
    [
      (settings[left] === undefined) !== (settings[right] === undefined),
      `${left} and ${right} go together: only one is set`,
    ] as const;
  const isTls = settings.DIRECTORY_STARTTLS || /\bldaps:/i.test(settings.DIRECTORY_URL);
  const isGuarded = settings.NODE_ENV === 'production' && !settings.ALLOW_EMBEDDED;
  const refused = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
  const contradictions: (readonly [exists: boolean, problem: string])[] = [
    pairOf('AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'),
    pairOf('DIRECTORY_BIND_DN', 'DIRECTORY_BIND_PASSWORD'),
    pairOf('DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'),
    [
      settings.DIRECTORY_SASL_EXTERNAL &&
        (DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined),
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [
      !isTls && (DIRECTORY_CERT_FILE ?? DIRECTORY_CA_FILE) !== undefined,
      'DIRECTORY_CA_FILE and DIRECTORY_CERT_FILE only go with TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://',
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
  // Nothing is concluded from settings that are wrong.
  const isAboutWrong = (problem: string) => wrong.some((name) => new RegExp(`\\b${name}\\b`).test(problem));
  return contradictions.flatMap(([exists, problem]) => (exists && !isAboutWrong(problem) ? [problem] : []));
}

/**
 * Returns the configuration with the preset of a server that was recognized, unless the model names the kind of server.
 * @throws ConfigError if fields of the model conflict with those of the preset
 */
export function configFor(config: Config, server: PresetName): Config {
  const { directory, model, modelFile, modelText } = config;
  if (directory.isServerGiven) return config;
  const conflicts = describeProblems(modelFile ?? '', checkModel(modelText ?? '#', server).problems);
  if (conflicts.length > 0)
    throw new ConfigError(conflicts.map((each) => `${each}, on a server of the kind ${server}`));
  if (directory.server === server) return config;
  return { ...config, directory: withServer(directory, model, server) };
}

/** Uses the default of an invalid setting, so that the other settings can be checked too. */
function readSettings(environment: Environment) {
  const schema = z.object(SETTINGS);
  const found: (readonly [name: SettingName, problem: string])[] = [];
  const values: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const { value, problem } = readVariable(environment, name);
    values[name] = value;
    if (problem !== undefined) found.push([name, problem]);
  }
  for (const { path, message } of schema.safeParse(values).error?.issues ?? [])
    found.push([path[0] as SettingName, `${String(path[0])} ${message}`]);
  const wrong = found.map(([name]) => name);
  for (const name of wrong) values[name] = undefined;
  return { settings: schema.parse(values), problems: found.map(([, problem]) => problem), wrong };
}

/** An empty variable counts as absent: compose files spell «not set» that way. */
function readVariable(environment: Environment, name: SettingName): { value?: string; problem?: string } {
  const value = environment[name] || undefined;
  const file = SECRETS.has(name) ? environment[`${name}_FILE`] : '';
  if (!file) return { value };
  if (value !== undefined) return { problem: `${name} and ${name}_FILE are both set: only one can be meant` };
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return text.trim() === ''
      ? { problem: `${name}_FILE names a file that is empty: ${file}` }
      : { value: text };
  } catch {
    return { problem: `${name}_FILE names a file that cannot be read: ${file}` };
  }
}

function buildConfig(
  settings: Settings,
  { model, text }: ReturnType<typeof readModel>,
  passwordFile: string | null,
) {
  const service = buildService(settings);
  return {
    ...service,
    monitoring: buildMonitoring(settings),
    database: buildDatabase(settings),
    /** Null: each process has its own counters. */
    redis: buildRedis(settings),
    directory: buildDirectory(settings, model, passwordFile),
    /** The path of the model file. Null: the built-in model. */
    modelFile: text === null ? null : (modelFileOf(settings) ?? null),
    modelText: text,
    model,
    /** Those of the built-in schema, and then those of the model. */
    scopes: [
      ...BUILT_IN_SCOPES,
      ...Object.entries(model.scopes ?? {}).map(([name, description]) => ({ name, description })),
    ] as readonly ScopeDefinition[],
    auth: buildAuth(settings, service.baseUrl),
    /** Null: the explorer is not served. */
    explorer: buildExplorer(settings, service.baseUrl),
    /** Documents by id, without the prefix `sha256:`. Null: clients may send all. */
    trustedDocuments: settings.TRUSTED_DOCUMENTS ?? null,
    /** Null: generated and kept in the database. */
    urlSigningKeys: settings.URL_SIGNING_KEYS?.map((key) => Buffer.from(key, 'hex')) ?? null,
    limits: buildLimits(settings),
    /** 0: the service keeps no access log. */
    accessLogDays: settings.ACCESS_LOG_DAYS,
  };
}

/** The configuration of one of several workers, which share connections and previews. */
export function configOfWorker(config: Config): Config {
  const { database, limits, workers } = config;
  if (workers === 1) return config;
  const shareOf = (sum: number) => Math.ceil(sum / workers);
  // With one connection, a long statement would hold up all others.
  const poolSize = Math.max(2, shareOf(database.poolSize));
  const previewPoolSize = shareOf(database.previewPoolSize);
  const [connections, streams] = [shareOf(limits.connections), shareOf(limits.streams)];
  return {
    ...config,
    database: { ...database, poolSize, previewPoolSize },
    limits: { ...limits, connections, streams },
  };
}
