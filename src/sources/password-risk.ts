import { isLoopback } from '../common/loopback.js';
import type { LdapSourceConfig } from '../config/directory.js';

/** Whether the password of the account can be read on its way to the server, in words; null: nothing is wrong (pure). */
export function passwordRisk({ bind, security, host }: LdapSourceConfig): string | null {
  if (bind === null || security !== 'none' || isLoopback(host)) return null;
  return `The password of ${bind.dn} crosses the network to ${host} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}
