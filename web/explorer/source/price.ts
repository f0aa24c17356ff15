/** How the caller stands with the limits; what the service has not told is missing. */
export interface Price {
  /** Points that the operation has cost. */
  readonly cost?: number;
  /** Points that are left in the window. */
  readonly points?: number;
  /** Requests that are left in the window. */
  readonly requests?: number;
}

/** Reads the header RateLimit: a list of limits with parameters (RFC 9651 §3.1), as docs/http.md describes it. */
export function parseRateLimit(header: string): Price {
  const found: { -readonly [Name in keyof Price]: number } = {};
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
