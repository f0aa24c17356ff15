import type { VerifiedToken } from './tokens/token-verifier.js';

/**
 * Decides about the secret of a service account. Service accounts have rows of their own and live in a later
 * room, which provides this.
 */
export abstract class ServiceAccountVerifier {
  /** @throws UnauthenticatedError when the account is unknown, expired or revoked, or the secret is wrong */
  abstract verify(id: string, secret: string): Promise<VerifiedToken>;
}
