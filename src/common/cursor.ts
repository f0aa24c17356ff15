import { createHash } from 'node:crypto';
import { ServiceError } from './errors.js';

/** A value of the order of a page, as it stands in a cursor. */
export type CursorValue = string | number;
export type CursorValueType = 'string' | 'number';

/** What a cursor belongs to: a connection with its order and filter. Given to another one, it is refused. */
export type CursorBinding = string;

/** Bindings by what they are of: most of them are asked for again and again. */
const known = new Map<string, CursorBinding>();
/** How many are kept, and of how many characters. */
const MOST_KNOWN = 1000;
const LONGEST_KNOWN = 500;

/**
 * The binding of a connection with everything that decides which rows it has and in which order. What is null
 * decides nothing: it is the same as what is left out.
 */
export function bindCursor(connection: string, order: object, filter: object): CursorBinding {
  const asked = JSON.stringify([connection, order, filter]);
  let binding = known.get(asked);
  if (binding === undefined) {
    const text = JSON.stringify([connection, order, filter], canonical);
    binding = createHash('sha256').update(text).digest('base64url').slice(0, 11);
    if (known.size === MOST_KNOWN) known.clear();
    if (asked.length <= LONGEST_KNOWN) known.set(asked, binding);
  }
  return binding;
}

/** Leaves out nulls, and writes the members of an object in one order. */
function canonical(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? undefined;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** The cursor of a row: opaque to clients, the row's place in the order to us. */
export function encodeCursor(binding: CursorBinding, values: readonly CursorValue[]): string {
  return Buffer.from(JSON.stringify([binding, ...values])).toString('base64url');
}

/**
 * The place in the order that a cursor stands for.
 * @throws ServiceError INVALID_CURSOR when it is none of ours, or of another connection, order or filter
 */
export function decodeCursor(
  cursor: string,
  binding: CursorBinding,
  types: readonly CursorValueType[],
  argument: 'after' | 'before',
): CursorValue[] {
  const [bound, ...values] = parse(cursor);
  if (typeof bound !== 'string' || !fits(values, types)) {
    throw new ServiceError('INVALID_CURSOR', `The cursor in ${argument} is not one of this service`, {
      argument,
    });
  }
  if (bound !== binding) {
    throw new ServiceError(
      'INVALID_CURSOR',
      `The cursor in ${argument} belongs to another connection, order or filter: begin again without it`,
      { argument },
    );
  }
  return values;
}

function parse(cursor: string): unknown[] {
  if (!/^[A-Za-z0-9_-]{1,4096}$/.test(cursor)) return [];
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return []; // Not JSON: refused by the caller with everything else that is not ours.
  }
}

function fits(values: unknown[], types: readonly CursorValueType[]): values is CursorValue[] {
  return (
    values.length === types.length &&
    values.every((value, index) =>
      types[index] === 'number'
        ? Number.isSafeInteger(value)
        : typeof value === 'string' && value.isWellFormed() && !value.includes('\0'),
    )
  );
}
