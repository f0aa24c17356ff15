/** The protection space of all challenges (RFC 9110 §11.5). */
export const REALM = 'directory';

/** Where the metadata of the API are (RFC 9728 §3.1), each resource below its own path. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** The paths of the API that take tokens. */
export const PROTECTED_PATHS = ['/graphql/v1', '/changes/v1'] as const;

const BASIC = `Basic realm="${REALM}", charset="UTF-8"`;
const FIELD = 'www-authenticate';

/**
 * Completes a Bearer challenge: with the URL of the metadata (RFC 9728 §5.1), and with a Basic challenge, because each path
 * also takes service accounts. One with other scopes may do what a token may not.
 * @param route the path of the route, without that of BASE_URL
 */
export function completeChallenge(
  headers: Readonly<Record<string, string>>,
  baseUrl: string,
  route: string,
): Readonly<Record<string, string>> {
  const challenge = headers[FIELD];
  if (challenge?.startsWith('Bearer ') !== true) return headers;
  const path = PROTECTED_PATHS.find((each) => route === each || route.startsWith(`${each}/`)) ?? '';
  const metadata = `resource_metadata="${baseUrl}${RESOURCE_METADATA_PATH}${path}"`;
  return { ...headers, [FIELD]: `${challenge}, ${metadata}, ${BASIC}` };
}
