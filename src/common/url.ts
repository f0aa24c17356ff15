import { isIPv4 } from 'node:net';

/** Parses a URL; null if invalid. On Node 20, `URL.canParse` rejects `é` once it has been compiled. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Parses an http or https URL. Returns null for every other text. */
export function parseHttpUrl(text: string): URL | null {
  const url = parseUrl(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}

/** Characters that no URI contains (RFC 3986 §2) or that end a text in markup. */
const MARKUP = /[\s\p{Cc}<>"'`\\^{|}]/u;

/** Returns why a text is not acceptable as a website. Null: it is acceptable. */
export function faultOfWebsite(text: string): string | null {
  if (MARKUP.test(text)) return 'has spaces, control characters, quotes or markup';
  const url = parseHttpUrl(text);
  if (url === null) return 'is not an http or https URL';
  return url.username === '' && url.password === '' ? null : 'has user information';
}

/** A URL with an `@`. A password may contain any character, so everything up to the last `@` counts. */
const USER_INFORMATION = /\b((?:https?|ldaps?|postgres(?:ql)?|rediss?):\/*|[a-z][a-z0-9+.-]*:\/\/)\S*@/gi;

/** Removes the user information (RFC 3986 §3.2.1), which can contain a password, from the URLs of a text. */
export function hideUserInformation(text: string): string {
  return text.replace(USER_INFORMATION, '$1(hidden)@');
}

/** Whether a host is the local machine (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, RFC 6761 §6.3). No brackets. */
export function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith('127.')) || host === '::1' || /^(.+\.)?localhost\.?$/i.test(host);
}

/** Returns the host of a URL in the form that `isLoopback` takes. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The host of a Host header (RFC 9110 §7.2) without its port. Null: missing or malformed. */
export function readHost(field: string | undefined): string | null {
  if (field === undefined || !/^[\w.:[\]-]{1,300}$/.test(field)) return null;
  const url = parseUrl(`http://${field}`);
  return url === null ? null : hostOf(url);
}
