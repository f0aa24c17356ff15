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
