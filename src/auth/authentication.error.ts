import { type ErrorDetails, ServiceError } from '../common/errors.js';
import { REALM } from '../http/challenges.js';
import type { Scope } from './principal.js';

/** The credentials are missing or not valid: 401, with the challenge that RFC 9110 §11.6.1 requires. */
export class UnauthenticatedError extends ServiceError {
  constructor(message: string, challenge: string, options?: ErrorOptions, details: ErrorDetails = {}) {
    super('UNAUTHENTICATED', message, { ...details, challenge }, options);
  }

  /** `what` is the subject of a sentence. Without `requiredScopes`, any token is enough. */
  static tokenNeeded(what: string, requiredScopes: readonly Scope[]): UnauthenticatedError {
    const how = 'send it in the Authorization header, as Bearer (access token) or Basic (service account)';
    return new UnauthenticatedError(
      `${what} needs a token: ${how}`,
      `Bearer realm="${REALM}"`,
      {},
      requiredScopes.length === 0 ? {} : { requiredScopes },
    );
  }

  static malformedHeader(): UnauthenticatedError {
    return new UnauthenticatedError(
      'The Authorization header is malformed: send it once, as «Bearer TOKEN» or «Basic TOKEN»',
      `Bearer realm="${REALM}", error="invalid_request"`,
    );
  }

  static badToken(reason: string, options?: ErrorOptions): UnauthenticatedError {
    return new UnauthenticatedError(
      `The access token is not accepted: ${reason}`,
      `Bearer realm="${REALM}", error="invalid_token", error_description="${reason}"`,
      options,
    );
  }

  static malformedServiceAccount(): UnauthenticatedError {
    return new UnauthenticatedError(
      'The service-account token is malformed: it is ID:SECRET in Base64 (RFC 4648 §4)',
      `Basic realm="${REALM}", charset="UTF-8"`,
    );
  }

  static badServiceAccount(): UnauthenticatedError {
    return new UnauthenticatedError(
      'The service-account token is not accepted: it is unknown, expired or revoked',
      `Basic realm="${REALM}", charset="UTF-8"`,
    );
  }
}

/** Explains that the scopes of a token are not enough. `what` is the subject of the sentence. */
export function scopeNeeded(what: string, requiredScopes: readonly Scope[]): string {
  const scopes =
    requiredScopes.length === 1
      ? `the scope ${requiredScopes.join()}`
      : `the scopes ${requiredScopes.join(' and ')}`;
  return `${what} is not accessible with this token: it needs ${scopes}.`;
}
