import { HttpException } from '@nestjs/common';

/** Every code of an error with its HTTP status, of which an exception of Nest has the first: see docs/http.md. */
const STATUS_OF = {
  BAD_REQUEST: 400,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  BAD_USER_INPUT: 400,
  OPERATION_RESOLUTION_FAILURE: 400,
  PERSISTED_QUERY_NOT_FOUND: 400,
  FORBIDDEN: 403,
  DOCUMENT_NOT_TRUSTED: 403,
  METHOD_NOT_ALLOWED: 405,
  UNSUPPORTED_MEDIA_TYPE: 415,
  NOT_ACCEPTABLE: 406,
  PAYLOAD_TOO_LARGE: 413,
  UNAUTHENTICATED: 401,
  INSUFFICIENT_SCOPE: 403,
  NO_USER_CONTEXT: 400,
  NOT_FOUND: 404,
  INVALID_CURSOR: 400,
  CHANGE_CURSOR_EXPIRED: 400,
  QUERY_TOO_COMPLEX: 400,
  RATE_LIMITED: 429,
  TIMEOUT: 503,
  CONFLICT: 409,
  STALE: 503,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
} as const;

export type ErrorCode = keyof typeof STATUS_OF;
export const ERROR_CODES = Object.keys(STATUS_OF) as ErrorCode[];

/** Details of an error besides its message: names and numbers, never contents. */
export interface ErrorDetails {
  /** The GraphQL argument or input field that was rejected. */
  argument?: string;
  requiredScopes?: readonly string[];
  grantedScopes?: readonly string[];
  /** The value of `WWW-Authenticate` (RFC 9110 §11.6.1). */
  challenge?: string;
  /** Seconds after which the client may try again; becomes `Retry-After`. */
  retryAfter?: number;
  /** Maximum age of the mirror in seconds that the request accepts. */
  maxStaleness?: number;
  ageSeconds?: number;
}

/** An error that clients receive as it is. Every other thrown value is masked and logged once. */
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

  get status(): number {
    return STATUS_OF[this.code];
  }
}

/** Messages repeat names and values of the request, of any size. */
export function bounded(message: string): string {
  return message.length <= 1000 ? message : `${message.slice(0, 1000).toWellFormed()}…`;
}

export class BadUserInputError extends ServiceError {
  constructor(message: string, argument: string) {
    super('BAD_USER_INPUT', message, { argument });
  }
}

export class NotFoundError extends ServiceError {
  constructor(message: string, argument: string) {
    super('NOT_FOUND', message, { argument });
  }
}

/** A dependency of this service is temporarily unavailable. */
export class ServiceUnavailableError extends ServiceError {
  constructor(message: string, options?: ErrorOptions) {
    super('SERVICE_UNAVAILABLE', message, { retryAfter: 1 }, options);
  }
}

/** The error for clients: a ServiceError, or an exception of Nest. Null for others, and for a status of a defect. */
export function asServiceError(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof HttpException)) return null;
  const status = error.getStatus();
  if (status < 400 || status === 500 || status === 501) return null;
  if (status > 501) return new ServiceUnavailableError(error.message, { cause: error });
  const code = ERROR_CODES.find((each) => STATUS_OF[each] === status) ?? 'BAD_REQUEST';
  return new ServiceError(code, error.message, {}, { cause: error });
}
