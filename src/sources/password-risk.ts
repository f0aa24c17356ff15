import { isIPv4 } from 'node:net';
import type { LdapSourceConfig } from '../config/directory.js';

/** Whether the password of the account can be read on its way to the server, in words; null: nothing is wrong (pure). */
export function passwordRisk({ bind, security, host }: LdapSourceConfig): string | null {
  if (bind === null || security !== 'none' || isLoopback(host)) return null;
  return `The password of ${bind.dn} crosses the network to ${host} unencrypted: set DIRECTORY_STARTTLS=true, or an ldaps:// URL`;
}

/** This machine itself (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, RFC 6761 §6.3). */
function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith('127.')) || host === '::1' || /^(.+\.)?localhost\.?$/i.test(host);
}
