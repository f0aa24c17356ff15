import { isEmbedded } from './settings/database.js';
import { namesSampleDirectory, splitUrls } from './settings/directory.js';
import type { SettingName, Settings } from './settings.js';

/** One day more than a delivery is repeated. */
const MIN_DAYS_OF_WEBHOOKS = 4;

/** Settings of which only both have a meaning. */
const PAIRS = [
  ['AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'],
  ['DIRECTORY_BIND_DN', 'DIRECTORY_BIND_PASSWORD'],
  ['DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'],
] as const;

/** Those that differ from their defaults, also AUTH_PROVIDER. */
const given = (settings: Settings, names: readonly SettingName[]) =>
  names.filter((name) => {
    const value: unknown = settings[name];
    return value !== undefined && value !== false && value !== 'generic';
  });

/** What some settings need, whether it is there, and the settings, which have no effect without it. */
type Need = readonly [what: string, isThere: boolean, ...names: SettingName[]];

function needsOf(settings: Settings): Need[] {
  const { AUTH_URL, AUTH_INTROSPECTION_URL, DIRECTORY_STARTTLS, REDIS_URL } = settings;
  const isExternal = AUTH_URL !== undefined;
  const isHttps = [AUTH_URL, AUTH_INTROSPECTION_URL].some((url) => /^https:/i.test(url ?? ''));
  const urls = splitUrls(settings.DIRECTORY_URL);
  const areTls = urls.map((url) => DIRECTORY_STARTTLS || /^ldaps:/i.test(url));
  const tls = 'TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
  return [
    [
      'AUTH_URL: the embedded identity provider is not asked about tokens',
      isExternal,
      ...(['AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'] as const),
      ...(['AUTH_INTROSPECTION_URL', 'AUTH_INTROSPECTION_NO_AUDIENCE'] as const),
    ],
    [
      'AUTH_URL: tokens of the embedded identity provider have one form',
      isExternal,
      ...(['AUTH_PROVIDER', 'AUTH_TOKEN_TYPE', 'AUTH_USER_CLAIM'] as const),
      ...(['AUTH_USER_FIELD', 'AUTH_SCOPE_CLAIM'] as const),
    ],
    ['an AUTH_URL that begins with https://', isHttps, 'AUTH_CA_FILE'],
    [tls, !areTls.includes(false), 'DIRECTORY_CERT_FILE'],
    [tls, areTls.includes(true), 'DIRECTORY_CA_FILE'],
    [
      'a DIRECTORY_URL that begins with ldap://',
      urls.some((url) => url.startsWith('ldap:')),
      'DIRECTORY_STARTTLS',
    ],
    [
      'a DATABASE_URL that begins with postgres://: an embedded database has no standby',
      !isEmbedded(settings),
      'DATABASE_READ_URL',
    ],
    ['a REDIS_URL that begins with rediss://', REDIS_URL?.startsWith('rediss:') === true, 'REDIS_CA_FILE'],
  ];
}

/** A contradiction between settings that are valid individually, and whether it exists. */
type Rule = readonly [exists: boolean, problem: string];

function rulesOf(settings: Settings): Rule[] {
  const { AUTH_URL, DIRECTORY_BIND_DN, DIRECTORY_CERT_FILE, METRICS_PORT, PORT, WORKERS = 1 } = settings;
  const { DIRECTORY_CHANGES_DAYS, DIRECTORY_WEBHOOKS, EXPLORER, TRUSTED_DOCUMENTS } = settings;
  const lacksCertificate = DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined;
  const isRefused = TRUSTED_DOCUMENTS !== undefined && settings.TRUSTED_DOCUMENTS_MODE === 'refuse';
  return [
    [
      WORKERS > 1 && AUTH_URL === undefined,
      'WORKERS above 1 only goes with AUTH_URL: the embedded identity provider keeps its sessions in one process',
    ],
    [
      settings.DIRECTORY_SASL_EXTERNAL && lacksCertificate,
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [
      DIRECTORY_WEBHOOKS !== undefined && DIRECTORY_CHANGES_DAYS < MIN_DAYS_OF_WEBHOOKS,
      `DIRECTORY_CHANGES_DAYS must be at least ${MIN_DAYS_OF_WEBHOOKS} with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days`,
    ],
    [
      isRefused && EXPLORER === true,
      'EXPLORER=true does not go with TRUSTED_DOCUMENTS, which refuses its queries: set TRUSTED_DOCUMENTS_MODE=log',
    ],
    [METRICS_PORT === PORT, 'METRICS_PORT and PORT are the same: metrics have a port of their own'],
  ];
}

function rulesOfProduction(settings: Settings): Rule[] {
  if (settings.NODE_ENV !== 'production' || settings.ALLOW_EMBEDDED) return [];
  const refused = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
  return [
    [isEmbedded(settings), `DATABASE_URL ${refused}: set postgres://…`],
    [settings.AUTH_URL === undefined, `AUTH_URL is empty: the identity provider ${refused}`],
    [settings.URL_SIGNING_KEYS === undefined, `URL_SIGNING_KEYS is empty: the generated key ${refused}`],
    [namesSampleDirectory(settings), `DIRECTORY_URL is empty or names the sample: that directory ${refused}`],
  ];
}

/**
 * Finds contradictions between settings. Nothing is concluded from those that are wrong.
 * @param wrong settings with invalid values
 */
export function findContradictions(settings: Settings, wrong: readonly SettingName[]): string[] {
  const rules = [
    ...PAIRS.map((pair): Rule => [
      given(settings, pair).length === 1,
      `${pair.join(' and ')} go together: only one is set`,
    ]),
    ...needsOf(settings).map(([what, isThere, ...names]): Rule => {
      const useless = given(settings, names);
      return [!isThere && useless.length > 0, `${useless.join(' and ')} only goes with ${what}`];
    }),
    ...rulesOf(settings),
    ...rulesOfProduction(settings),
  ];
  const isAboutWrong = (problem: string) => wrong.some((name) => new RegExp(`\\b${name}\\b`).test(problem));
  return rules.flatMap(([exists, problem]) => (exists && !isAboutWrong(problem) ? [problem] : []));
}
