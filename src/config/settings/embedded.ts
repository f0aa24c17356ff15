import { hostOf, isLoopback, readHost } from '../../common/loopback.js';
import type { Config } from '../config.js';

/** Id of the service account of the demonstration. */
export const DEMO_ACCOUNT = 'demo';

/**
 * Whether a request may use what is embedded: the identity provider, which asks for no password, and the service account
 * of the demonstration. Without ALLOW_EMBEDDED only requests to this machine, or to the host of BASE_URL, may. A web page
 * whose name an attacker lets point to this machine (DNS rebinding) sends its own name.
 * @param host the Host header field, as it came
 */
export function mayUseEmbedded(
  { allowEmbedded, baseUrl }: Pick<Config, 'allowEmbedded' | 'baseUrl'>,
  host: string | undefined,
): boolean {
  if (allowEmbedded) return true;
  const name = readHost(host);
  return name !== null && (isLoopback(name) || name === hostOf(new URL(baseUrl)));
}

/** Why such a request is refused. */
export const EMBEDDED_REFUSAL =
  'The embedded identity provider and the account of the demonstration only answer requests to localhost, or to the host of BASE_URL: ' +
  'set BASE_URL to the address that you use, or ALLOW_EMBEDDED=true';
