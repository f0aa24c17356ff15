import { createHash } from 'node:crypto';
import { ServiceError } from './errors.js';
import type { KeySeal } from './key-seal.js';

export type CursorValue = string | number;
/** `key`: the primary key of the row. */
type CursorValueType = 'string' | 'number' | 'key';

/** Identifies what decides the rows and their order. Others reject the cursor. A null counts as omitted. */
export function bindCursor(connection: string, order: object, filter: object): string {
  const text = JSON.stringify([connection, order, filter], canonical);
  return createHash('sha256').update(text).digest('base64url').slice(0, 11);
}

/** Leaves out nulls, and writes the members of an object in a fixed order. */
function canonical(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/**
 * Encodes positions of rows in the order as cursors, which are opaque to clients: the key of the row is sealed.
 * @param columns the values of each column of the order. The last one has the keys of the rows
 * @param extras values that follow the position in each cursor
 */
export function encodeCursors(
  seal: KeySeal,
  binding: string,
  columns: readonly (readonly CursorValue[])[],
  extras: readonly CursorValue[],
): string[] {
  const numbers = (columns.at(-1) ?? []) as readonly number[];
  return seal.seal(numbers, binding).map((sealed, index) => {
    const values = columns.slice(0, -1).map((column) => column[index]);
    return Buffer.from(JSON.stringify([binding, ...values, sealed, ...extras])).toString('base64url');
  });
}

/** Decodes a cursor into its position in the order. @throws ServiceError INVALID_CURSOR */
export function decodeCursor(
  seal: KeySeal,
  cursor: string,
  binding: string,
  types: readonly CursorValueType[],
  argument: 'after' | 'before',
): readonly CursorValue[] {
  const [, ...values] = readCursor(cursor);
  const place = types.indexOf('key');
  const sealed = values[place];
  // A key that is not sealed could be one of the client, which searches for the numbers of hidden rows.
  values[place] = typeof sealed === 'string' ? seal.open(sealed, binding) : null;
  if (fits(values, types)) return values;
  const fault = 'is not one of this connection, order and filter: begin again without it';
  throw new ServiceError('INVALID_CURSOR', `The cursor in ${argument} ${fault}`, { argument });
}

/** The values in a text that has the form of a cursor, the binding first. Empty for other texts. */
export function readCursor(cursor: string): unknown[] {
  if (!/^[A-Za-z0-9_-]{1,4096}$/.test(cursor)) return [];
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return []; // Not JSON: the caller rejects it like every other malformed cursor.
  }
}

function fits(values: unknown[], types: readonly CursorValueType[]): values is CursorValue[] {
  return (
    values.length === types.length &&
    values.every((value, index) =>
      types[index] === 'string'
        ? typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
        : Number.isSafeInteger(value),
    )
  );
}
