import type { VerifiedToken } from './tokens/token-verifier.js';

/**
 * Verifies the secret of a service account. An abstract class, because the module of service accounts is in a layer
 * above this one and provides it.
 */
export abstract class ServiceAccountVerifier {
  /** @throws UnauthenticatedError if the account is unknown, expired or revoked, or the secret is wrong */
  abstract verify(id: string, secret: string): Promise<VerifiedToken>;
}
