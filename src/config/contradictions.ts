import { type SettingName, type Settings, splitUrls } from './settings.js';
import { isEmbedded } from './settings/database.js';
import { namesSampleDirectory } from './settings/directory.js';

/** One day more than a delivery is repeated. */
const MIN_DAYS_OF_WEBHOOKS = 4;

/** A contradiction between settings that are valid individually, and whether it exists. */
type Rule = readonly [exists: boolean, problem: string];

/** Of both settings, only one is there. */
function pair(settings: Settings, left: SettingName, right: SettingName): Rule {
  const isOne = (settings[left] === undefined) !== (settings[right] === undefined);
  return [isOne, `${left} and ${right} go together: only one is set`];
}

/** Settings other than their defaults have no effect without what they need. */
function need(settings: Settings, what: string, isThere: boolean, names: readonly SettingName[]): Rule {
  const useless = names.filter(
    (name) => ![undefined, false, 'generic'].includes(settings[name] as undefined),
  );
  return [!isThere && useless.length > 0, `${useless.join(' and ')} only goes with ${what}`];
}

function needsOf(settings: Settings): Rule[] {
  const { AUTH_URL, AUTH_INTROSPECTION_URL, DIRECTORY_STARTTLS, REDIS_URL } = settings;
  const isHttps = [AUTH_URL, AUTH_INTROSPECTION_URL].some((url) => /^https:/i.test(url ?? ''));
  const areTls = splitUrls(settings.DIRECTORY_URL).map((url) => DIRECTORY_STARTTLS || /^ldaps:/i.test(url));
  const tls = 'TLS: set DIRECTORY_STARTTLS=true, or a DIRECTORY_URL that begins with ldaps://';
  return [
    need(settings, 'AUTH_URL', AUTH_URL !== undefined, [
      ...(['AUTH_PROVIDER', 'AUTH_TOKEN_TYPE', 'AUTH_USER_CLAIM', 'AUTH_USER_FIELD'] as const),
      ...(['AUTH_SCOPE_CLAIM', 'AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'] as const),
      ...(['AUTH_INTROSPECTION_URL', 'AUTH_INTROSPECTION_NO_AUDIENCE'] as const),
    ]),
    need(settings, 'an AUTH_URL that begins with https://', isHttps, ['AUTH_CA_FILE']),
    need(settings, tls, !areTls.includes(false), ['DIRECTORY_CERT_FILE']),
    need(settings, tls, areTls.includes(true), ['DIRECTORY_CA_FILE']),
    need(
      settings,
      'a DATABASE_URL that begins with postgres://: an embedded database has no standby',
      !isEmbedded(settings),
      ['DATABASE_READ_URL'],
    ),
    need(settings, 'a REDIS_URL that begins with rediss://', REDIS_URL?.startsWith('rediss:') === true, [
      'REDIS_CA_FILE',
    ]),
  ];
}

function rulesOf(settings: Settings): Rule[] {
  const { AUTH_URL, DIRECTORY_BIND_DN, DIRECTORY_CERT_FILE, DIRECTORY_WEBHOOKS, WORKERS = 1 } = settings;
  const lacksCertificate = DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined;
  const isRefused = settings.TRUSTED_DOCUMENTS !== undefined && settings.TRUSTED_DOCUMENTS_MODE === 'refuse';
  return [
    pair(settings, 'AUTH_INTROSPECTION_CLIENT_ID', 'AUTH_INTROSPECTION_CLIENT_SECRET'),
    pair(settings, 'DIRECTORY_BIND_DN', 'DIRECTORY_BIND_PASSWORD'),
    pair(settings, 'DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'),
    [
      WORKERS > 1 && AUTH_URL === undefined,
      'WORKERS above 1 only goes with AUTH_URL: the embedded identity provider keeps its sessions in one process',
    ],
    [
      settings.DIRECTORY_SASL_EXTERNAL && lacksCertificate,
      'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
    ],
    [
      DIRECTORY_WEBHOOKS !== undefined && settings.DIRECTORY_CHANGES_DAYS < MIN_DAYS_OF_WEBHOOKS,
      `DIRECTORY_CHANGES_DAYS must be at least ${MIN_DAYS_OF_WEBHOOKS} with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days`,
    ],
    [
      isRefused && settings.EXPLORER === true,
      'EXPLORER=true does not go with TRUSTED_DOCUMENTS, which refuses its queries: set TRUSTED_DOCUMENTS_MODE=log',
    ],
    [
      settings.METRICS_PORT === settings.PORT,
      'METRICS_PORT and PORT are the same: metrics have a port of their own',
    ],
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
  const isAboutWrong = (problem: string) => wrong.some((name) => new RegExp(`\\b${name}\\b`).test(problem));
  return [...rulesOf(settings), ...needsOf(settings), ...rulesOfProduction(settings)].flatMap(
    ([exists, problem]) => (exists && !isAboutWrong(problem) ? [problem] : []),
  );
}
