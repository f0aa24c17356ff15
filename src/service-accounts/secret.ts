import { createHash, timingSafeEqual } from 'node:crypto';

/** Tells people, and scanners of leaked secrets, what they have found. */
export const SECRET_PREFIX = 'dirsa_';

/** Bytes of randomness in a secret: 256 bits, so that a plain hash of it cannot be searched. */
export const SECRET_BYTES = 32;

/** The secret made of these random bytes. */
export function buildSecret(random: Buffer): string {
  return SECRET_PREFIX + random.toString('base64url');
}

/** What is stored of a secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** What is sent after `Authorization: Basic`: RFC 7617 §2. */
export function buildToken(id: string, secret: string): string {
  return Buffer.from(`${id}:${secret}`).toString('base64');
}

/**
 * Whether the secret is one of those with these hashes. Takes the same time whichever it is, if any; a secret
 * is compared with something even where there is nothing, so that unknown accounts cost the same.
 */
export function isOneOf(secret: string, hashes: readonly Buffer[]): boolean {
  const hash = hashSecret(secret);
  const candidates = hashes.length > 0 ? hashes : NOBODYS_HASHES;
  return (
    candidates.reduce((found, candidate) => timingSafeEqual(hash, candidate) || found, false) &&
    hashes.length > 0
  );
}

const NOBODYS_HASHES = [Buffer.alloc(32)];
