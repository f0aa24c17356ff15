import { isEmbedded } from './settings/database.js';
import { namesSampleDirectory } from './settings/directory.js';
import { splitUrls } from './settings/directory-settings.js';
import { explorerAddresses } from './settings/explorer.js';
import { baseUrlOf } from './settings/service.js';
import type { SettingName, Settings } from './settings.js';

/** Settings that are valid individually and contradict each other. */
interface Contradiction {
  /** Nothing is concluded while one of these has an invalid value. */
  readonly about: readonly SettingName[];
  readonly exists: (settings: Settings) => boolean;
  readonly problem: string | ((settings: Settings) => string);
}

const REFUSED = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
const refusesEmbedded = ({ NODE_ENV, ALLOW_EMBEDDED }: Settings) =>
  NODE_ENV === 'production' && !ALLOW_EMBEDDED;
const explorerUris = (settings: Settings) => explorerAddresses(baseUrlOf(settings));
/** One day more than a delivery is repeated. */
const MIN_DAYS_OF_WEBHOOKS = 4;
/** Settings for the introspection of an external issuer. */
const OF_INTROSPECTION = [
  'AUTH_INTROSPECTION_CLIENT_ID',
  'AUTH_INTROSPECTION_CLIENT_SECRET',
  'AUTH_INTROSPECTION_URL',
  'AUTH_INTROSPECTION_NO_AUDIENCE',
] as const satisfies readonly SettingName[];
/** Settings for the tokens of an external issuer. */
const OF_TOKENS = [
  ...['AUTH_TOKEN_TYPE', 'AUTH_USER_CLAIM', 'AUTH_USER_FIELD', 'AUTH_CLIENT_CLAIM', 'AUTH_SCOPE_CLAIM'],
] as const satisfies readonly SettingName[];
const rulesGiven = (settings: Settings) => [
  ...(settings.AUTH_PROVIDER === 'generic' ? [] : ['AUTH_PROVIDER']),
  ...OF_TOKENS.filter((name) => settings[name] !== undefined),
];
const introspectionGiven = (settings: Settings) =>
  OF_INTROSPECTION.filter((name) => settings[name] !== undefined && settings[name] !== false);

const CONTRADICTIONS: readonly Contradiction[] = [
  {
    about: ['AUTH_INTROSPECTION_CLIENT_SECRET'],
    exists: ({ AUTH_INTROSPECTION_CLIENT_ID: id, AUTH_INTROSPECTION_CLIENT_SECRET: secret }) =>
      (id === undefined) !== (secret === undefined),
    problem: 'AUTH_INTROSPECTION_CLIENT_ID and AUTH_INTROSPECTION_CLIENT_SECRET go together: only one is set',
  },
  {
    about: ['AUTH_URL'],
    exists: (settings) => settings.AUTH_URL === undefined && introspectionGiven(settings).length > 0,
    problem: (settings) =>
      `${introspectionGiven(settings).join(' and ')} only goes with AUTH_URL: the embedded identity provider is not asked about tokens`,
  },
  {
    about: ['AUTH_URL'],
    exists: (settings) => settings.AUTH_URL === undefined && rulesGiven(settings).length > 0,
    problem: (settings) =>
      `${rulesGiven(settings).join(' and ')} only goes with AUTH_URL: tokens of the embedded identity provider have one form`,
  },
  {
    about: ['AUTH_URL', 'AUTH_INTROSPECTION_URL'],
    exists: ({ AUTH_CA_FILE, AUTH_URL, AUTH_INTROSPECTION_URL }) =>
      AUTH_CA_FILE !== undefined &&
      ![AUTH_URL, AUTH_INTROSPECTION_URL].some((url) => /^https:/i.test(url ?? '')),
    problem: 'AUTH_CA_FILE only goes with an AUTH_URL that begins with https://',
  },
  {
    about: ['DIRECTORY_BIND_PASSWORD'],
    exists: ({ DIRECTORY_BIND_DN: dn, DIRECTORY_BIND_PASSWORD: password }) =>
      (dn === undefined) !== (password === undefined),
    problem: 'DIRECTORY_BIND_DN and DIRECTORY_BIND_PASSWORD go together: only one is set',
  },
  {
    about: ['DIRECTORY_CERT_FILE', 'DIRECTORY_KEY_FILE'],
    exists: ({ DIRECTORY_CERT_FILE: certificate, DIRECTORY_KEY_FILE: key }) =>
      (certificate === undefined) !== (key === undefined),
    problem: 'DIRECTORY_CERT_FILE and DIRECTORY_KEY_FILE go together: only one is set',
  },
  {
    about: ['DIRECTORY_CERT_FILE', 'DIRECTORY_SASL_EXTERNAL'],
    exists: ({ DIRECTORY_CERT_FILE, DIRECTORY_SASL_EXTERNAL, DIRECTORY_BIND_DN }) =>
      DIRECTORY_SASL_EXTERNAL && (DIRECTORY_CERT_FILE === undefined || DIRECTORY_BIND_DN !== undefined),
    problem: 'DIRECTORY_SASL_EXTERNAL needs DIRECTORY_CERT_FILE, and no DIRECTORY_BIND_DN',
  },
  {
    about: ['DIRECTORY_URL', 'DIRECTORY_CERT_FILE'],
    exists: ({ DIRECTORY_CERT_FILE, DIRECTORY_STARTTLS, DIRECTORY_URL }) =>
      DIRECTORY_CERT_FILE !== undefined &&
      !DIRECTORY_STARTTLS &&
      splitUrls(DIRECTORY_URL).some((url) => !url.startsWith('ldaps:')),
    problem: 'DIRECTORY_CERT_FILE only goes with TLS: set DIRECTORY_STARTTLS=true, or an ldaps:// URL',
  },
  {
    about: ['DIRECTORY_URL'],
    exists: ({ DIRECTORY_CA_FILE, DIRECTORY_STARTTLS, DIRECTORY_URL }) =>
      DIRECTORY_CA_FILE !== undefined &&
      !DIRECTORY_STARTTLS &&
      !splitUrls(DIRECTORY_URL).some((url) => /^ldaps:/i.test(url)),
    problem: 'DIRECTORY_CA_FILE only goes with TLS: set DIRECTORY_STARTTLS=true, or an ldaps:// URL',
  },
  {
    about: ['DIRECTORY_URL'],
    exists: ({ DIRECTORY_STARTTLS, DIRECTORY_URL }) =>
      DIRECTORY_STARTTLS && !splitUrls(DIRECTORY_URL).some((url) => url.startsWith('ldap:')),
    problem: 'DIRECTORY_STARTTLS only goes with a DIRECTORY_URL that begins with ldap://',
  },
  {
    about: ['DATABASE_URL'],
    exists: (settings) => settings.DATABASE_READ_URL !== undefined && isEmbedded(settings),
    problem:
      'DATABASE_READ_URL only goes with a DATABASE_URL that begins with postgres://: an embedded database has no standby',
  },
  {
    about: ['DIRECTORY_WEBHOOKS', 'DIRECTORY_CHANGES_DAYS'],
    exists: ({ DIRECTORY_WEBHOOKS, DIRECTORY_CHANGES_DAYS }) =>
      DIRECTORY_WEBHOOKS !== undefined && DIRECTORY_CHANGES_DAYS < MIN_DAYS_OF_WEBHOOKS,
    problem: `DIRECTORY_CHANGES_DAYS must be at least ${MIN_DAYS_OF_WEBHOOKS} with DIRECTORY_WEBHOOKS: a failed delivery is repeated for three days`,
  },
  {
    about: ['REDIS_URL'],
    exists: ({ REDIS_CA_FILE, REDIS_URL = '' }) =>
      REDIS_CA_FILE !== undefined && !REDIS_URL.startsWith('rediss:'),
    problem: 'REDIS_CA_FILE only goes with a REDIS_URL that begins with rediss://',
  },
  {
    about: ['EXPLORER_REDIRECT_URI', 'BASE_URL', 'HOST', 'PORT'],
    exists: (settings) =>
      settings.EXPLORER_REDIRECT_URI !== undefined &&
      !explorerUris(settings).includes(settings.EXPLORER_REDIRECT_URI),
    problem: (settings) =>
      `EXPLORER_REDIRECT_URI must be where the explorer is: ${explorerUris(settings).join(' or ')}`,
  },
  {
    about: ['TRUSTED_DOCUMENTS', 'EXPLORER'],
    exists: ({ TRUSTED_DOCUMENTS, TRUSTED_DOCUMENTS_MODE, EXPLORER }) =>
      TRUSTED_DOCUMENTS !== undefined && TRUSTED_DOCUMENTS_MODE === 'refuse' && EXPLORER === true,
    problem:
      'EXPLORER=true does not go with TRUSTED_DOCUMENTS, which refuses its queries: set TRUSTED_DOCUMENTS_MODE=log',
  },
  {
    about: ['ALLOW_EMBEDDED', 'DATABASE_URL'],
    exists: (settings) => refusesEmbedded(settings) && isEmbedded(settings),
    problem: `DATABASE_URL ${REFUSED}: set postgres://…`,
  },
  {
    about: ['ALLOW_EMBEDDED', 'AUTH_URL'],
    exists: (settings) => refusesEmbedded(settings) && settings.AUTH_URL === undefined,
    problem: `AUTH_URL is empty: the identity provider ${REFUSED}`,
  },
  {
    about: ['ALLOW_EMBEDDED', 'URL_SIGNING_KEYS'],
    exists: (settings) => refusesEmbedded(settings) && settings.URL_SIGNING_KEYS === undefined,
    problem: `URL_SIGNING_KEYS is empty: the generated key ${REFUSED}`,
  },
  {
    about: ['ALLOW_EMBEDDED', 'DIRECTORY_URL'],
    exists: (settings) => refusesEmbedded(settings) && namesSampleDirectory(settings),
    problem: `DIRECTORY_URL is empty or names the sample: that directory ${REFUSED}`,
  },
  {
    about: ['WORKERS', 'AUTH_URL'],
    exists: ({ WORKERS = 1, AUTH_URL }) => WORKERS > 1 && AUTH_URL === undefined,
    problem:
      'WORKERS above 1 only goes with AUTH_URL: the embedded identity provider keeps its sessions in one process',
  },
  {
    about: ['METRICS_PORT', 'PORT'],
    exists: ({ METRICS_PORT, PORT }) => METRICS_PORT === PORT,
    problem: 'METRICS_PORT and PORT are the same: metrics have a port of their own',
  },
  {
    about: ['METRICS_PORT', 'PORT'],
    exists: ({ METRICS_PORT, METRICS_HOST }) => METRICS_PORT === undefined && METRICS_HOST !== undefined,
    problem: 'METRICS_HOST only goes with a METRICS_PORT',
  },
];

/** @param wrong settings with invalid values */
export function findContradictions(settings: Settings, wrong: ReadonlySet<SettingName>): string[] {
  return CONTRADICTIONS.filter(
    ({ about, exists }) => !about.some((name) => wrong.has(name)) && exists(settings),
  ).map(({ problem }) => (typeof problem === 'string' ? problem : problem(settings)));
}
