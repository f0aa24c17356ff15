import { splitUrls } from './settings/directory-settings.js';
import { explorerAddresses } from './settings/explorer.js';
import { baseUrlOf } from './settings/service.js';
import type { SettingName, Settings } from './settings.js';

/**
 * Finds settings that are valid individually but contradict each other.
 * @param wrong settings with invalid values, from which the function concludes nothing
 */
export function findContradictions(settings: Settings, wrong: ReadonlySet<SettingName>): string[] {
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
    !splitUrls(settings.DIRECTORY_URL).some((url) => url.startsWith('ldap:')) &&
    !wrong.has('DIRECTORY_URL')
  ) {
    problems.push('DIRECTORY_STARTTLS only goes with a DIRECTORY_URL that begins with ldap://');
  }
  if (
    settings.DATABASE_REPLICA_URLS.length > 0 &&
    settings.DATABASE_URL.startsWith('pglite:') &&
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
  const addresses = explorerAddresses(baseUrlOf(settings));
  if (
    settings.EXPLORER_REDIRECT_URI !== undefined &&
    !addresses.includes(settings.EXPLORER_REDIRECT_URI) &&
    !(['EXPLORER_REDIRECT_URI', 'BASE_URL', 'HOST', 'PORT'] as const).some((name) => wrong.has(name))
  ) {
    problems.push(`EXPLORER_REDIRECT_URI must be where the explorer is: ${addresses.join(' or ')}`);
  }
  if (settings.NODE_ENV === 'production' && !settings.ALLOW_EMBEDDED && !wrong.has('ALLOW_EMBEDDED')) {
    const refused = 'is embedded, which production refuses unless ALLOW_EMBEDDED=true';
    if (settings.DATABASE_URL.startsWith('pglite:') && !wrong.has('DATABASE_URL'))
      problems.push(`DATABASE_URL ${refused}: set postgres://…`);
    if (settings.AUTH_URL === undefined && !wrong.has('AUTH_URL'))
      problems.push(`AUTH_URL is empty: the identity provider ${refused}`);
    if (settings.URL_SIGNING_KEYS === undefined && !wrong.has('URL_SIGNING_KEYS'))
      problems.push(`URL_SIGNING_KEYS is empty: the generated key ${refused}`);
  }
  if (!wrong.has('METRICS_PORT') && !wrong.has('PORT')) {
    const { METRICS_PORT, METRICS_HOST, PORT } = settings;
    if (METRICS_PORT === PORT)
      problems.push('METRICS_PORT and PORT are the same: metrics have a port of their own');
    if (METRICS_PORT === undefined && METRICS_HOST !== undefined)
      problems.push('METRICS_HOST only goes with a METRICS_PORT');
  }
  return problems;
}
