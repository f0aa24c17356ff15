import { Logger } from '@nestjs/common';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { ERROR_CODES, type ErrorCode, type ErrorDetails, ServiceError } from '../../common/errors.js';
import { asServiceError } from '../../common/http-exception.js';
import { type Rejection, toRejection } from '../../http/rejection.js';

/**
 * The HTTP rejection for the errors of an operation, if the database could not be reached or timed out;
 * otherwise null.
 */
export function unavailabilityOf(errors: readonly GraphQLFormattedError[]): Rejection | null {
  const code = errors
    .map(({ extensions }) => extensions?.['code'])
    .find((each) => each === 'SERVICE_UNAVAILABLE' || each === 'TIMEOUT');
  return code === undefined ? null : toRejection(new ServiceError(code, ''));
}

/** The `extensions` of an error, except the request id. */
export function extensionsOf(code: ErrorCode, details: ErrorDetails): Record<string, unknown> {
  const { argument, requiredScopes, grantedScopes, maxStaleness, ageSeconds } = details;
  const known = { argument, requiredScopes, grantedScopes, maxStaleness, ageSeconds };
  return { code, ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) };
}

/** Apollo's error codes for which this service has its own codes. */
const RENAMED: Record<string, ErrorCode> = {
  PERSISTED_QUERY_NOT_SUPPORTED: 'BAD_REQUEST',
  PERSISTED_QUERY_NOT_FOUND: 'BAD_REQUEST',
};

const logger = new Logger('GraphQL');

/** Errors in responses since the start, by code. */
export const errorCounts = new Map<ErrorCode, number>();

/**
 * The error for the client: with its own code, or masked if it is not intended for clients. Masked errors are
 * logged here, once, with the request id.
 */
export function formatError(
  formatted: GraphQLFormattedError,
  error: unknown,
  requestId: string,
): GraphQLFormattedError {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error;
  const place = {
    ...(formatted.locations === undefined ? {} : { locations: formatted.locations }),
    ...(formatted.path === undefined ? {} : { path: formatted.path }),
  };
  const known = asServiceError(original);
  if (known !== null) {
    countError(known.code);
    return {
      message: known.message,
      ...place,
      extensions: { ...extensionsOf(known.code, known.details), requestId },
    };
  }
  const code = codeOf(formatted);
  countError(code);
  if (code !== 'INTERNAL_SERVER_ERROR') {
    return { message: formatted.message, ...place, extensions: { code, requestId } };
  }
  logger.error(
    `Request ${requestId} failed: ${original instanceof Error ? (original.stack ?? original.message) : 'no error object'}`,
  );
  return {
    message: 'The request failed: report its id to the operators',
    ...place,
    extensions: { code, requestId },
  };
}

export function countError(code: ErrorCode): void {
  errorCounts.set(code, (errorCounts.get(code) ?? 0) + 1);
}

/**
 * Removes the names that graphql-js suggests at the end of a message. A regular expression would be slow on
 * long messages, which repeat parts of the request.
 */
export function withoutSuggestion(error: GraphQLFormattedError): GraphQLFormattedError {
  const { message } = error;
  const start = message.endsWith('?') ? message.lastIndexOf('Did you mean ') : -1;
  return start === -1 ? error : { ...error, message: message.slice(0, start).trimEnd() };
}

function codeOf({ message, extensions }: GraphQLFormattedError): ErrorCode {
  const code = extensions?.['code'];
  if (typeof code !== 'string') return 'INTERNAL_SERVER_ERROR';
  // The parser counts tokens and reports too many of them as a syntax error.
  if (code === 'GRAPHQL_PARSE_FAILED' && message.includes('Parsing aborted')) return 'QUERY_TOO_COMPLEX';
  // The validation rules limit the comparisons of fields that may overlap.
  if (code === 'GRAPHQL_VALIDATION_FAILED' && message === 'Validation aborted.') return 'QUERY_TOO_COMPLEX';
  const renamed = RENAMED[code] ?? code;
  return (ERROR_CODES as readonly string[]).includes(renamed)
    ? (renamed as ErrorCode)
    : 'INTERNAL_SERVER_ERROR';
}
