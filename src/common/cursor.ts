import { createCipheriv, createDecipheriv, hash } from 'node:crypto';
import { ServiceError } from './errors.js';

export type CursorValue = string | number;

/** Bytes of the key, and of a block of AES. */
export const SEAL_BYTES = 16;
/** A block has the number of a row as a float64, which holds every safe integer, its binding, and its parent. */
const [BINDING_AT, PARENT_AT] = [8, 12];

/** Identifies what decides the rows and their order. Others reject the cursor. A null counts as omitted. */
export function bindCursor(connection: string, order: object, filter: object): string {
  const text = JSON.stringify([connection, order, filter], (_key, value: unknown) => value ?? undefined);
  return hash('sha256', text, 'base64url').slice(0, 11);
}

/**
 * Encrypts the numbers of rows, because missing numbers would disclose rows that are hidden (docs/adr/0038). A number
 * is one block of AES-128 (FIPS 197) with the beginning of its binding and the key of the object of the row, which
 * decryption verifies. Without the key, no other number can be derived or invented.
 */
export class KeySeal {
  private readonly cipher;
  private readonly decipher;

  /** @param key 16 secret bytes */
  constructor(key: Uint8Array) {
    // Without padding, ECB returns each block at once, so that the objects are created once.
    this.cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    this.decipher = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  }

  /** All at once: a call of the cipher takes longer than a block. @param parent their object; 0: none */
  seal(numbers: readonly number[], binding: string, parent = 0): string[] {
    const blocks = Buffer.alloc(numbers.length * SEAL_BYTES);
    numbers.forEach((number, index) => {
      const at = index * SEAL_BYTES;
      blocks.writeDoubleBE(number, at);
      blocks.write(binding, at + BINDING_AT, PARENT_AT - BINDING_AT, 'base64url');
      blocks.writeInt32BE(parent, at + PARENT_AT);
    });
    const sealed = this.cipher.update(blocks);
    return numbers.map((_, index) =>
      sealed.toString('base64url', index * SEAL_BYTES, (index + 1) * SEAL_BYTES),
    );
  }

  /** Returns the number and the parent, or null if they were not sealed with this key and binding. */
  open(sealed: unknown, binding: string): [number: number, parent: number] | null {
    if (typeof sealed !== 'string' || !/^[A-Za-z0-9_-]{22}$/.test(sealed)) return null;
    const block = this.decipher.update(Buffer.from(sealed, 'base64url'));
    const [number, parent] = [block.readDoubleBE(), block.readInt32BE(PARENT_AT)];
    const isSealed = Number.isSafeInteger(number) && this.seal([number], binding, parent)[0] === sealed;
    return isSealed ? [number, parent] : null;
  }

  /**
   * Encodes positions of rows in the order as cursors, which are opaque to clients.
   * @param columns the values of each column of the order. The last one has the keys of the rows
   * @param extras values that follow the position in each cursor
   */
  encode(binding: string, columns: readonly CursorValue[][], extras: CursorValue[], parent = 0): string[] {
    const keys = (columns.at(-1) ?? []) as number[];
    return this.seal(keys, binding, parent).map((sealed, index) => {
      const values = columns.slice(0, -1).map((column) => column[index]);
      return Buffer.from(JSON.stringify([binding, ...values, sealed, ...extras])).toString('base64url');
    });
  }

  /** The place in the order, where `key` is the key of the row, and its parent. @throws ServiceError INVALID_CURSOR */
  decode(
    cursor: string,
    binding: string,
    types: readonly ('string' | 'number' | 'key')[],
    argument: 'after' | 'before',
  ): readonly CursorValue[] {
    const [, ...values] = readCursor(cursor);
    const place = types.indexOf('key');
    // A key that is not sealed could be one of the client, which searches for the numbers of hidden rows.
    const [key, parent = 0] = this.open(values[place], binding) ?? [];
    values[place] = key;
    const fits = (value: unknown, index: number) =>
      types[index] === 'string'
        ? typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
        : Number.isSafeInteger(value);
    if (values.length === types.length && values.every(fits)) return [...(values as CursorValue[]), parent];
    throw foreignCursor(argument);
  }
}

export function foreignCursor(argument: 'after' | 'before'): ServiceError {
  const fault = 'is not one of this connection, order and filter: begin again without it';
  return new ServiceError('INVALID_CURSOR', `The cursor in ${argument} ${fault}`, { argument });
}

/** The values in a text that has the form of a cursor, the binding first. Empty for other texts. */
export function readCursor(cursor: string): unknown[] {
  try {
    const isOfCursor = /^[A-Za-z0-9_-]{1,4096}$/.test(cursor);
    const parsed: unknown = isOfCursor && JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return []; // Not JSON: the caller rejects it like every other malformed cursor.
  }
}
