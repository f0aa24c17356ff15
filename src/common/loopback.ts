import { isIPv4 } from 'node:net';
import { parseUrl } from './url.js';

/**
 * Returns whether a host is the local machine (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, RFC 6761 §6.3). An IPv6
 * address has no brackets.
 */
export function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith('127.')) || host === '::1' || /^(.+\.)?localhost\.?$/i.test(host);
}

/** Returns the host of a URL in the form that `isLoopback` takes. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Reads the host of a Host header field (RFC 9110 §7.2), without its port. Null: the field is missing or
 * malformed.
 */
export function readHost(field: string | undefined): string | null {
  if (field === undefined || !/^[\w.:[\]-]{1,300}$/.test(field)) return null;
  const url = parseUrl(`http://${field}`);
  return url === null ? null : hostOf(url);
}
