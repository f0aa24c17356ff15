import { HttpException } from '@nestjs/common';
import { type ErrorCode, ServiceError } from './errors.js';

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
 * Returns the error with a code if clients may receive it: a ServiceError, or a Nest HttpException, of which
 * only the message is used. Returns null for every other error and for a status that reports a defect, such
 * as 500.
 */
export function asServiceError(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof HttpException)) return null;
  const status = error.getStatus();
  const code = CODES[status] ?? (status >= 400 && status < 500 ? 'BAD_REQUEST' : null);
  if (code === null) return null;
  return new ServiceError(code, error.message, status >= 502 ? { retryAfter: 1 } : {}, { cause: error });
}
