import { InvalidDnError, isBelow } from './dn.js';

/** The database that a base is in: where one is below another, the innermost. */
export function suffixOf(base: string, namingContexts: readonly string[]): string | undefined {
  try {
    return namingContexts
      .filter((context) => isBelow(base, context))
      .reduce<string | undefined>(
        (inner, each) => (each.length >= (inner?.length ?? 0) ? each : inner),
        undefined,
      );
  } catch (error) {
    // The server is asked all the same, and says what it makes of such a name.
    if (error instanceof InvalidDnError) return undefined;
    throw error;
  }
}
