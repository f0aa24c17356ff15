import { isEmbedded } from './settings/database.js';
import { namesSampleDirectory, splitUrls } from './settings/directory.js';
import { baseUrlOf, explorerAddresses } from './settings/service.js';
import type { SettingName, Settings } from './settings.js';

const given = (settings: Settings, ...names: SettingName[]) =>
  names.filter((name) => settings[name] !== undefined && settings[name] !== false);

/** One day more than a delivery is repeated. */
const MIN_DAYS_OF_WEBHOOKS = 4;

/** Settings of which only both have a meaning. */
const PAIRS = [
  ['AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'],
  ['DIRECTORY_BIND_DN', 'DIRECTORY_BIND_PASSWORD'],
  ['DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'],
] as const;

/** A contradiction between settings that are valid individually, and whether it exists. */
type Rule = readonly [exists: boolean, problem: string];

function rulesOfAuth(settings: Settings): Rule[] {
  const { AUTH_URL, AUTH_INTROSPECTION_URL, AUTH_CA_FILE, AUTH_PROVIDER, WORKERS = 1 } = settings;
  const ofIntrospection = given(
    settings,
    ...(['AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'] as const),
    ...(['AUTH_INTROSPECTION_URL', 'AUTH_INTROSPECTION_NO_AUDIENCE'] as const),
  );
  const ofTokens = [
    ...(AUTH_PROVIDER === 'generic' ? [] : ['AUTH_PROVIDER']),
    ...given(settings, 'AUTH_TOKEN_TYPE', 'AUTH_USER_CLAIM', 'AUTH_USER_FIELD'),
    ...given(settings, 'AUTH_CLIENT_CLAIM', 'AUTH_SCOPE_CLAIM'),
  ];
  const isEncrypted = [AUTH_URL, AUTH_INTROSPECTION_URL].some((url) => /^https:/i.test(url ?? ''));
  return [
    [
      AUTH_URL === undefined && ofIntrospection.length > 0,
      `${ofIntrospection.join(' and ')} only goes with AUTH_URL: the embedded identity provider is not asked about tokens`,
    ],
    [
      AUTH_URL === undefined && ofTokens.length > 0,
      `${ofTokens.join(' and ')} only goes with AUTH_URL: tokens of the embedded identity provider have one form`,
    ],
    [
      AUTH_CA_FILE !== undefined && !isEncrypted,
      'AUTH_CA_FILE only goes with an AUTH_URL that begins with https://',
    ],
    [
      WORKERS > 1 && AUTH_URL === undefined,
      'WORKERS above 1 only goes with AUTH_URL: the embedded identity provider keeps its sessions in one process',
    ],
  ];
}

function rulesOfDirectory(settings: Settings): Rule[] {
  const { DIRECTORY_CERT_FILE, DIRECTORY_CA_FILE, DIRECTORY_STARTTLS, DIRECTORY_SASL_EXTERNAL } = settings;
  const { DIRECTORY_BIND_DN, DIRECTORY_WEBHOOKS, DIRECTORY_CHANGES_DAYS } = settings;
  const urls = splitUrls(settings.DIRECTORY_URL);
  const areTls = urls.map((url) => DIRECTORY_STARTTLS || /^ldaps:/i.test(url));
  const forTls =
    'only goes with TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
  return [
    [
      DIRECTORY_SASL_EXTERNAL && (DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined),
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [DIRECTORY_CERT_FILE !== undefined && areTls.includes(false), `DIRECTORY_CERT_FILE ${forTls}`],
    [DIRECTORY_CA_FILE !== undefined && !areTls.includes(true), `DIRECTORY_CA_FILE ${forTls}`],
    [
      DIRECTORY_STARTTLS && !urls.some((url) => url.startsWith('ldap:')),
      'DIRECTORY_STARTTLS only goes with a DIRECTORY_URL that begins with ldap://',
    ],
    [
      DIRECTORY_WEBHOOKS !== undefined && DIRECTORY_CHANGES_DAYS < MIN_DAYS_OF_WEBHOOKS,
      `DIRECTORY_CHANGES_DAYS must be at least ${MIN_DAYS_OF_WEBHOOKS} with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days`,
    ],
  ];
}

function rulesOfService(settings: Settings): Rule[] {
  const { EXPLORER, EXPLORER_REDIRECT_URI, TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_MODE } = settings;
  const { METRICS_PORT, METRICS_HOST, PORT, REDIS_CA_FILE, REDIS_URL = '' } = settings;
  const explorerUris = explorerAddresses(baseUrlOf(settings));
  return [
    [
      settings.DATABASE_READ_URL !== undefined && isEmbedded(settings),
      'DATABASE_READ_URL only goes with a DATABASE_URL that begins with postgres://: an embedded database has no standby',
    ],
    [
      REDIS_CA_FILE !== undefined && !REDIS_URL.startsWith('rediss:'),
      'REDIS_CA_FILE only goes with a REDIS_URL that begins with rediss://',
    ],
    [
      EXPLORER_REDIRECT_URI !== undefined && !explorerUris.includes(EXPLORER_REDIRECT_URI),
      `EXPLORER_REDIRECT_URI must be where the explorer is below BASE_URL: ${explorerUris.join(' or ')}`,
    ],
    [
      TRUSTED_DOCUMENTS !== undefined && TRUSTED_DOCUMENTS_MODE === 'refuse' && EXPLORER === true,
      'EXPLORER=true does not go with TRUSTED_DOCUMENTS, which refuses its queries: set TRUSTED_DOCUMENTS_MODE=log',
    ],
    [METRICS_PORT === PORT, 'METRICS_PORT and PORT are the same: metrics have a port of their own'],
    [METRICS_PORT === undefined && METRICS_HOST !== undefined, 'METRICS_HOST only goes with a METRICS_PORT'],
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
      given(settings, ...pair).length === 1,
      `${pair.join(' and ')} go together: only one is set`,
    ]),
    ...rulesOfAuth(settings),
    ...rulesOfDirectory(settings),
    ...rulesOfService(settings),
    ...rulesOfProduction(settings),
  ];
  const isAboutWrong = (problem: string) => wrong.some((name) => new RegExp(`\\b${name}\\b`).test(problem));
  return rules.flatMap(([exists, problem]) => (exists && !isAboutWrong(problem) ? [problem] : []));
}
