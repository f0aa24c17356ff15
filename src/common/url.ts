/**
 * The URL that a text is; null when it is none. `URL.canParse` is of no use: on Node 20 it says no to every text with
 * `é` in it, once it has been called a few thousand times and compiled.
 */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** The http or https URL that a text is; null when it is none. */
export function parseHttpUrl(text: string): URL | null {
  const url = parseUrl(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}

/** What no URI has (RFC 3986 §2), and what ends a text in markup: a client may put a web site into a page as it is. */
const MARKUP = /[\s\p{Cc}<>"'`\\^{|}]/u;

/** Why a text is no web site to show to others; null: it is one. */
export function faultOfWebsite(text: string): string | null {
  if (MARKUP.test(text)) return 'has spaces, control characters, quotes or markup';
  const url = parseHttpUrl(text);
  if (url === null) return 'is not an http or https URL';
  return url.username === '' && url.password === '' ? null : 'has user information';
}

/** A URL with an `@` in it. The password may hold every character, so all up to the last `@` counts as user information. */
const USER_INFORMATION = /\b((?:https?|ldaps?|postgres(?:ql)?|rediss?):\/*|[a-z][a-z0-9+.-]*:\/\/)\S*@/gi;

/** A text without the user information (RFC 3986 §3.2.1) of the URLs in it: it can be a password. */
export function hideUserInformation(text: string): string {
  return text.replace(USER_INFORMATION, '$1(hidden)@');
}
