import { HttpException } from '@nestjs/common';

/** Every code that `extensions.code` can contain. docs/http.md describes each one. */
export const ERROR_CODES = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_USER_INPUT',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'DOCUMENT_NOT_TRUSTED',
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
}

/** Messages repeat names and values of the request, of any size. */
const LONGEST_MESSAGE = 1000;

export function bounded(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE).toWellFormed()}…`;
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

/** Error codes by the HTTP status of a Nest exception. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  406: 'NOT_ACCEPTABLE',
  408: 'TIMEOUT',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'BAD_USER_INPUT',
  429: 'RATE_LIMITED',
  502: 'SERVICE_UNAVAILABLE',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
};

/**
 * The error for clients: a ServiceError, or the message of a Nest HttpException. Null for every other error, and
 * for a status that reports a defect, such as 500.
 */
export function asServiceError(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof HttpException)) return null;
  const status = error.getStatus();
  const code = CODES[status] ?? (status >= 400 && status < 500 ? 'BAD_REQUEST' : null);
  if (code === null) return null;
  return new ServiceError(code, error.message, status >= 502 ? { retryAfter: 1 } : {}, { cause: error });
}
