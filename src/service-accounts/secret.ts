import { createHash, timingSafeEqual } from 'node:crypto';
import { SECRET_PREFIX } from '../auth/tokens/token-verifier.js';

/** 256 random bits, so that the secret cannot be found from its plain hash. */
export const SECRET_BYTES = 32;

/** The secret of these random bytes. */
export function buildSecret(random: Buffer): string {
  return SECRET_PREFIX + random.toString('base64url');
}

/** The stored form of a secret. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** The credentials after `Authorization: Basic` (RFC 7617 §2). */
export function buildToken(id: string, secret: string): string {
  return Buffer.from(`${id}:${secret}`).toString('base64');
}

/**
 * Whether the secret has one of these hashes. The time does not depend on the result, and without hashes the secret is
 * compared with a dummy, so that unknown accounts take the same time.
 */
export function isOneOf(secret: string, hashes: readonly Buffer[]): boolean {
  const hash = hashSecret(secret);
  const candidates = hashes.length > 0 ? hashes : DUMMY_HASHES;
  return (
    candidates.reduce((found, candidate) => timingSafeEqual(hash, candidate) || found, false) &&
    hashes.length > 0
  );
}

const DUMMY_HASHES = [Buffer.alloc(32)];
