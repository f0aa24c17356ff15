import { isLoopback } from '../../common/loopback.js';
import type { LdapSourceConfig } from '../../config/settings/directory.js';

/** Whether the password of the account can be read on its way to the server, in words; null: nothing is wrong (pure). */
export function passwordRisk({ bind, servers }: LdapSourceConfig): string | null {
  const hosts = servers.flatMap(({ security, host }) =>
    security === 'none' && !isLoopback(host) ? [host] : [],
  );
  if (bind === null || hosts.length === 0) return null;
  return `The password of ${bind.dn} crosses the network to ${hosts.join(' and ')} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}
