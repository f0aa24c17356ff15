import { type ErrorDetails, ServiceError } from '../common/errors.js';
import { BASIC_CHALLENGE, bearerChallenge } from '../http/challenges.js';
import type { Scope } from './principal.js';

/** The credentials are missing or not valid: 401, with the challenge that RFC 9110 §11.6.1 requires. */
export class UnauthenticatedError extends ServiceError {
  constructor(message: string, challenge: string, options?: ErrorOptions, details: ErrorDetails = {}) {
    super('UNAUTHENTICATED', message, { ...details, challenge }, options);
  }

  /** `what` is the subject of a sentence. Without `requiredScopes`, any token is enough. */
  static tokenNeeded(what: string, requiredScopes: readonly Scope[]): UnauthenticatedError {
    const how = 'send it in the Authorization header, as Bearer (access token) or Basic (service account)';
    const details = requiredScopes.length === 0 ? {} : { requiredScopes };
    return new UnauthenticatedError(`${what} needs a token: ${how}`, bearerChallenge(), {}, details);
  }

  static malformedHeader(): UnauthenticatedError {
    const message = 'The Authorization header is malformed: send it once, as «Bearer TOKEN» or «Basic TOKEN»';
    return new UnauthenticatedError(message, bearerChallenge('error="invalid_request"'));
  }

  static badToken(reason: string, options?: ErrorOptions): UnauthenticatedError {
    const challenge = bearerChallenge('error="invalid_token"', `error_description="${reason}"`);
    return new UnauthenticatedError(`The access token is not accepted: ${reason}`, challenge, options);
  }

  static badServiceAccount(): UnauthenticatedError {
    const message = 'The service-account token is not accepted: it is unknown, expired or revoked';
    return new UnauthenticatedError(message, BASIC_CHALLENGE);
  }
}

/** Explains that the scopes of a token are not enough. `what` is the subject of the sentence. */
export function scopeNeeded(what: string, scopes: readonly Scope[]): string {
  return `${what} is not accessible with this token: it needs the scope ${scopes.join(' and the scope ')}.`;
}
