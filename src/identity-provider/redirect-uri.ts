import { parseUrl } from '../common/url.js';

/** Loopback hosts, to which plain http is allowed (RFC 8252 §7.3 and §8.3). */
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns whether the URL leads to the machine of the browser itself. */
export function isLoopbackUri(uri: string): boolean {
  const url = parseUrl(uri);
  return url !== null && LOOPBACK_HOSTS.has(url.hostname);
}

/**
 * Returns what is wrong with a redirect URI, or null: https, http to a loopback address, or a scheme with a dot
 * (RFC 8252 §7.1, RFC 9700 §2.6), without a fragment (RFC 6749 §3.1.2).
 */
export function redirectUriProblem(uri: string): string | null {
  if (parseUrl(uri) === null) return `must have absolute URLs, and ${quote(uri)} is none`;
  const { protocol } = new URL(uri);
  if (uri.includes('#')) return `must have URLs without a fragment, and ${quote(uri)} has one`;
  if (protocol === 'http:' && !isLoopbackUri(uri)) {
    return `must use https, or http to 127.0.0.1, [::1] or localhost, and ${quote(uri)} does not`;
  }
  if (protocol !== 'http:' && protocol !== 'https:' && !protocol.includes('.')) {
    return `must use https, http or a scheme with a dot in it, and ${quote(uri)} does not`;
  }
  return null;
}

function quote(uri: string): string {
  return JSON.stringify(uri.length > 100 ? `${uri.slice(0, 100)}…` : uri);
}
