/** The state of the limits. Values that the response does not contain are undefined. */
export interface RateLimit {
  /** Points charged for the operation. */
  readonly cost?: number;
  /** Points left in the window. */
  readonly points?: number;
  /** Requests left in the window. */
  readonly requests?: number;
}

/** Parses the header `RateLimit`: a list of limits with parameters (RFC 9651 §3.1; docs/http.md). */
export function parseRateLimit(header: string): RateLimit {
  const found: { -readonly [Name in keyof RateLimit]: number } = {};
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const valueOf = (key: string) => {
      const value = parameters.find((parameter) => parameter.startsWith(`${key}=`))?.slice(key.length + 1);
      return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
    };
    const left = valueOf('r');
    const cost = valueOf('directory-cost');
    if (name === '"points"' && left !== undefined) found.points = left;
    if (name === '"requests"' && left !== undefined) found.requests = left;
    if (cost !== undefined) found.cost = cost;
  }
  return found;
}
