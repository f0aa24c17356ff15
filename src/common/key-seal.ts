import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Bytes of the key, and of a block of AES. */
export const SEAL_BYTES = 16;
/** The number of a row as a float64, which holds every safe integer; the rest of the block is the binding. */
const NUMBER_BYTES = 8;
const SEALED = /^[A-Za-z0-9_-]{22}$/;

/**
 * Encrypts the numbers of rows, because missing numbers would disclose rows that are hidden (docs/adr/0038). A number is one block
 * of AES-128 (FIPS 197) with the first 8 bytes of its binding, which decryption verifies. Without the key, no other number can be derived or invented.
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

  /** All at once: a call of the cipher takes longer than a block. @param binding base64url of at least 8 bytes */
  seal(numbers: readonly number[], binding: string): string[] {
    const blocks = Buffer.alloc(numbers.length * SEAL_BYTES);
    numbers.forEach((number, index) => {
      blocks.writeDoubleBE(number, index * SEAL_BYTES);
      blocks.write(binding, index * SEAL_BYTES + NUMBER_BYTES, SEAL_BYTES - NUMBER_BYTES, 'base64url');
    });
    const sealed = this.cipher.update(blocks);
    return numbers.map((_, index) =>
      sealed.toString('base64url', index * SEAL_BYTES, (index + 1) * SEAL_BYTES),
    );
  }

  /** Returns the number, or null if it was not sealed with this key and binding. */
  open(sealed: string, binding: string): number | null {
    if (!SEALED.test(sealed)) return null;
    const number = this.decipher.update(Buffer.from(sealed, 'base64url')).readDoubleBE();
    return Number.isSafeInteger(number) && this.seal([number], binding)[0] === sealed ? number : null;
  }
}
