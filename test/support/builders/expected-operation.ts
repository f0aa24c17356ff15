/** A connection, and the ids on all its pages for a viewer. */
export interface ExpectedList {
  readonly kind: 'list';
  /** The field around it, with «%» in the place of the connection. */
  readonly parent: string;
  readonly field: string;
  readonly args: string;
  readonly node: string;
  readonly expected: readonly string[];
  readonly pageSize: number;
  readonly isBackward: boolean;
  readonly style: Style;
}

/** A field whose whole answer is known. */
export interface ExpectedValue {
  readonly kind: 'value';
  readonly query: string;
  /** The value of the root field `found`, or the code of its error. */
  readonly expected: { readonly value: unknown } | { readonly code: string };
}

export type ExpectedOperation = ExpectedList | ExpectedValue;

/** How an operation is written. */
export type Style = 'plain' | 'alias' | 'fragment';

export interface Draw {
  readonly operation: number;
  readonly user: string;
  readonly group: string;
  readonly other: string;
  readonly filter: number;
  readonly order: number;
  readonly isDescending: boolean;
  readonly pageSize: number;
  readonly isBackward: boolean;
  readonly style: Style;
}

export const NOT_FOUND = { code: 'NOT_FOUND' };
export const FORBIDDEN = { code: 'FORBIDDEN' };

export function emailOf(user: string): string {
  return `${user}@example.org`;
}

export function nameOf(entries: readonly { id: string; name?: string }[], id: string): string {
  return entries.find((each) => each.id === id)?.name ?? '';
}

export function sort(
  ids: readonly string[],
  placeOf: (id: string) => readonly (string | number)[],
  isDescending: boolean,
): string[] {
  const sorted = [...ids].sort((left, right) => compare(placeOf(left), placeOf(right)));
  return isDescending ? sorted.reverse() : sorted;
}

export function byName(
  entries: readonly { id: string; name?: string }[],
  ids: readonly string[],
  isDescending = false,
): string[] {
  return sort(ids, (id) => [nameOf(entries, id).toLowerCase()], isDescending);
}

function compare(left: readonly (string | number)[], right: readonly (string | number)[]): number {
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? '';
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}
