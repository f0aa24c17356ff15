/**
 * Every code that `extensions.code` can contain. The list is closed: a test fails on any other code.
 * docs/errors.md describes each code and how a client should react.
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

/** Details of an error besides its message: names and numbers, never contents. */
export interface ErrorDetails {
  /** The GraphQL argument or input field that was rejected. */
  argument?: string;
  /** Scopes that would have been sufficient. */
  requiredScopes?: readonly string[];
  /** Scopes that the token has. */
  grantedScopes?: readonly string[];
  /** The value of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  challenge?: string;
  /** Seconds after which the client may try again; becomes `Retry-After`. */
  retryAfter?: number;
  /** Maximum age of the mirror in seconds that the request accepts. */
  maxStaleness?: number;
  /** Actual age of the mirror in seconds. */
  ageSeconds?: number;
}

/**
 * An error that clients receive: its message and code appear unchanged in the response. Every other thrown
 * value is masked as INTERNAL_SERVER_ERROR and logged once.
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

/** The input is not acceptable; `argument` names the invalid part. */
export class BadUserInputError extends ServiceError {
  constructor(message: string, argument: string) {
    super('BAD_USER_INPUT', message, { argument });
  }
}

/** No object of the directory has this id. */
export class NotFoundError extends ServiceError {
  constructor(message: string, argument?: string) {
    super('NOT_FOUND', message, argument === undefined ? {} : { argument });
  }
}

/** A dependency of this service is temporarily unavailable. */
export class ServiceUnavailableError extends ServiceError {
  constructor(message: string, options?: ErrorOptions) {
    super('SERVICE_UNAVAILABLE', message, { retryAfter: 1 }, options);
  }
}
