/**
 * Every code a client can meet in `extensions.code`. The list is closed: a test fails on any other.
 * docs/errors.md says what each means and what to do about it.
 */
export const ERROR_CODES = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'NOT_ACCEPTABLE',
  'PAYLOAD_TOO_LARGE',
  'UNAUTHENTICATED',
  'INSUFFICIENT_SCOPE',
  'FORBIDDEN',
  'NO_USER_CONTEXT',
  'NOT_FOUND',
  'INVALID_CURSOR',
  'CHANGE_CURSOR_EXPIRED',
  'QUERY_TOO_COMPLEX',
  'RATE_LIMITED',
  'TIMEOUT',
  'CONFLICT',
  'STALE',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_SERVER_ERROR',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** What an error may say of itself besides its message: names and numbers, never contents. */
export interface ErrorDetails {
  /** The GraphQL argument or input field that was refused. */
  argument?: string;
  /** Scopes that would have been enough. */
  requiredScopes?: readonly string[];
  /** Scopes that the token has. */
  grantedScopes?: readonly string[];
  /** The value of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  challenge?: string;
  /** Seconds after which the client may try again; becomes `Retry-After`. */
  retryAfter?: number;
  /** Seconds that the mirror may be old for the request. */
  maxStaleness?: number;
  /** Seconds that it is old. */
  ageSeconds?: number;
}

/**
 * An error that is meant for the caller: its message and code are shown as they are.
 * Whatever else is thrown is masked as INTERNAL_SERVER_ERROR and logged once.
 */
export class ServiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ServiceError';
  }
}

/** The input cannot be accepted as it is; `argument` names the part that is wrong. */
export class BadUserInputError extends ServiceError {
  constructor(message: string, argument: string) {
    super('BAD_USER_INPUT', message, { argument });
  }
}

/** Nothing in the directory has this id. */
export class NotFoundError extends ServiceError {
  constructor(message: string, argument?: string) {
    super('NOT_FOUND', message, argument === undefined ? {} : { argument });
  }
}

/** Something this service depends on is away for the moment. */
export class ServiceUnavailableError extends ServiceError {
  constructor(message: string, options?: ErrorOptions) {
    super('SERVICE_UNAVAILABLE', message, { retryAfter: 1 }, options);
  }
}
