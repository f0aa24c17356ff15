import { isLoopback } from '../../common/url.js';
import type { LdapSourceConfig } from '../../config/settings/directory.js';

/** A warning if the password of the account crosses the network unencrypted; null when it does not (pure). */
export function passwordRisk({ bind, servers }: LdapSourceConfig): string | null {
  const hosts = servers.flatMap(({ security, host }) =>
    security === 'none' && !isLoopback(host) ? [host] : [],
  );
  if (bind === null || hosts.length === 0) return null;
  return `The password of ${bind.dn} crosses the network to ${hosts.join(' and ')} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}
