import ipaddr from 'ipaddr.js';

/** Parses a URL; null if invalid. On Node 20, `URL.canParse` rejects `é` once it has been compiled. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Characters that no URI contains (RFC 3986 §2) or that end a text in markup. */
const MARKUP = /[\s\p{Cc}<>"'`\\^{|}]/u;

/** Returns why a text is not acceptable as a website. Null: it is acceptable. */
export function faultOfWebsite(text: string): string | null {
  if (MARKUP.test(text)) return 'has spaces, control characters, quotes or markup';
  const url = parseUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'is not an http or https URL';
  return url.username === '' && url.password === '' ? null : 'has user information';
}

/** The host of a URL without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1');

/** Whether a host is the local machine (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, RFC 6761 §6.3). No brackets. */
export function isLoopback(host: string): boolean {
  return ipaddr.isValid(host)
    ? ipaddr.process(host).range() === 'loopback'
    : /^(.+\.)?localhost\.?$/i.test(host);
}

/**
 * Whether an IP address is of the public internet. The ranges of private networks, this machine, links, documentation
 * and transition mechanisms are not; an IPv4 address that is written as IPv6 counts as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  // The platform address of virtual machines of Azure.
  if (parsed.toString() === '168.63.129.16' || parsed.range() !== 'unicast') return false;
  // The only addresses of the public internet among those of IPv6 (RFC 4291 §2.4, IANA).
  return parsed.kind() === 'ipv4' || parsed.match(ipaddr.parseCIDR('2000::/3'));
}
