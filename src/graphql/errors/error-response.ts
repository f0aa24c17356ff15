import { Logger } from '@nestjs/common';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import { ERROR_CODES, type ErrorCode, ServiceError } from '../../common/errors.js';

/** The HTTP status of an error that refuses a whole request. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  INSUFFICIENT_SCOPE: 403,
  FORBIDDEN: 403,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  STALE: 503,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 503,
};

/** What HTTP says of an error that refuses a whole request. */
export function httpOf(error: ServiceError): { status: number; headers: Map<string, string> } {
  const headers = new Map<string, string>();
  const { retryAfter, requiredScopes } = error.details;
  if (error instanceof UnauthenticatedError) headers.set('www-authenticate', error.challenge);
  if (error.code === 'INSUFFICIENT_SCOPE' && requiredScopes !== undefined) {
    // RFC 6750 §3.1.
    headers.set('www-authenticate', `Bearer error="insufficient_scope", scope="${requiredScopes.join(' ')}"`);
  }
  if (retryAfter !== undefined) headers.set('retry-after', String(Math.max(1, Math.ceil(retryAfter))));
  return { status: STATUS[error.code] ?? 400, headers };
}

/** What HTTP says of an answer under which the database went away; null: it is there. */
export function unavailabilityOf(errors: readonly GraphQLFormattedError[]): ReturnType<typeof httpOf> | null {
  const code = errors
    .map(({ extensions }) => extensions?.['code'])
    .find((each) => each === 'SERVICE_UNAVAILABLE' || each === 'TIMEOUT');
  return code === undefined ? null : httpOf(new ServiceError(code, '', { retryAfter: 1 }));
}

/** A ServiceError as GraphQL carries it. `refuses`: the whole request, so that HTTP tells it too. */
export function toGraphQLError(error: ServiceError, { refuses }: { refuses: boolean }): GraphQLError {
  const { argument, requiredScopes, grantedScopes, maxStaleness, ageSeconds } = error.details;
  return new GraphQLError(error.message, {
    originalError: error,
    extensions: {
      code: error.code,
      ...(argument === undefined ? {} : { argument }),
      ...(requiredScopes === undefined ? {} : { requiredScopes }),
      ...(grantedScopes === undefined ? {} : { grantedScopes }),
      ...(maxStaleness === undefined ? {} : { maxStaleness }),
      ...(ageSeconds === undefined ? {} : { ageSeconds }),
      ...(refuses ? { http: httpOf(error) } : {}),
    },
  });
}

/** Words of Apollo's for cases that are ours to name. */
const RENAMED: Record<string, ErrorCode> = {
  PERSISTED_QUERY_NOT_SUPPORTED: 'BAD_REQUEST',
  PERSISTED_QUERY_NOT_FOUND: 'BAD_REQUEST',
};

const logger = new Logger('GraphQL');

/** Errors that clients were told since the start, by code. */
export const toldErrors = new Map<ErrorCode, number>();

/**
 * The error as the client sees it: one of ours as it is, GraphQL's own with its code, anything else masked.
 * Masked ones are logged here, once, with the request's id.
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
  if (original instanceof ServiceError) {
    count(original.code);
    const { extensions } = toGraphQLError(original, { refuses: false });
    return { message: original.message, ...place, extensions: { ...extensions, requestId } };
  }
  const code = codeOf(formatted);
  count(code);
  if (code !== 'INTERNAL_SERVER_ERROR') {
    return { message: formatted.message, ...place, extensions: { code, requestId } };
  }
  logger.error(
    `Request ${requestId} failed: ${original instanceof Error ? (original.stack ?? original.message) : 'no error object'}`,
  );
  return {
    message: 'Something went wrong on our side: tell the operators this request id',
    ...place,
    extensions: { code, requestId },
  };
}

function count(code: ErrorCode): void {
  toldErrors.set(code, (toldErrors.get(code) ?? 0) + 1);
}

/**
 * The words of graphql-js end with a name that would have been right. What is before them repeats what was sent, which can be
 * long and look the same: a regular expression would begin at each of those.
 */
export function withoutSuggestion(error: GraphQLFormattedError): GraphQLFormattedError {
  const { message } = error;
  const start = message.endsWith('?') ? message.lastIndexOf('Did you mean ') : -1;
  return start === -1 ? error : { ...error, message: message.slice(0, start).trimEnd() };
}

function codeOf({ message, extensions }: GraphQLFormattedError): ErrorCode {
  const code = extensions?.['code'];
  if (typeof code !== 'string') return 'INTERNAL_SERVER_ERROR';
  // The parser counts tokens itself, and calls too many of them a syntax error.
  if (code === 'GRAPHQL_PARSE_FAILED' && message.includes('Parsing aborted')) return 'QUERY_TOO_COMPLEX';
  // The rules count comparisons, of fields that may overlap.
  if (code === 'GRAPHQL_VALIDATION_FAILED' && message === 'Validation aborted.') return 'QUERY_TOO_COMPLEX';
  const renamed = RENAMED[code] ?? code;
  return (ERROR_CODES as readonly string[]).includes(renamed)
    ? (renamed as ErrorCode)
    : 'INTERNAL_SERVER_ERROR';
}
