import { hostOf, isLoopback, readHost } from '../../common/url.js';
import type { Config } from '../config.js';

/** Id of the service account of the demonstration. */
export const DEMO_ACCOUNT = 'demo';

/**
 * Whether a request may use the embedded identity provider, which requires no password, and the account of the demonstration.
 * Without ALLOW_EMBEDDED, only requests to the local machine or to the host of BASE_URL may. Under DNS rebinding, the Host
 * header has the name that the attacker resolves to this machine.
 * @param host the unparsed Host header field
 */
export function mayUseEmbedded(
  { allowEmbedded, baseUrl }: Pick<Config, 'allowEmbedded' | 'baseUrl'>,
  host: string | undefined,
): boolean {
  if (allowEmbedded) return true;
  const name = readHost(host);
  return name !== null && (isLoopback(name) || name === hostOf(new URL(baseUrl)));
}

/** The reason for rejecting such a request. */
export const EMBEDDED_REFUSAL =
  'The embedded identity provider and the account of the demonstration only answer requests to localhost, or to the host of BASE_URL: ' +
  'set BASE_URL to the address that you use, or ALLOW_EMBEDDED=true';
