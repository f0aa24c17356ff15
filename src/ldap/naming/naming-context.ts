import { InvalidDnError, isBelow } from './dn.js';

/**
 * The naming context (database suffix) that contains a base; the innermost one if several do; undefined if
 * none does, or a DN is malformed.
 */
export function suffixOf(base: string, namingContexts: readonly string[]): string | undefined {
  try {
    return namingContexts
      .filter((context) => isBelow(base, context))
      .reduce<string | undefined>(
        (inner, each) => (each.length >= (inner?.length ?? 0) ? each : inner),
        undefined,
      );
  } catch (error) {
    // The search is sent to the server anyway, and the server reports the malformed name.
    if (error instanceof InvalidDnError) return undefined;
    throw error;
  }
}

/** Whether either DN is below the other, or they are equal. */
export function isRelated(dn: string, base: string): boolean {
  try {
    return isBelow(dn, base) || isBelow(base, dn);
  } catch (error) {
    if (error instanceof InvalidDnError) return false;
    throw error;
  }
}
