import { GRAPHQL_PATH, isEndpoint } from '../http/request-context.js';
import { Logger } from '@nestjs/common';
import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  ServiceError,
  asServiceError,
  bounded,
} from '../../common/errors.js';
import { RejectionError, toRejection, type RejectionForm } from '../../http/rejection.js';
import { rateLimitHeaders } from '../rate-limit/rate-limiter.js';
import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { LONGEST_PARSED_FIELD } from '../../http/headers.js';

/** The HTTP rejection if the database could not be reached or timed out; otherwise null. */
export function unavailabilityOf(errors: readonly GraphQLFormattedError[]): RejectionError | null {
  const code = errors
    .map(({ extensions }) => extensions?.['code'])
    .find((each) => each === 'SERVICE_UNAVAILABLE' || each === 'TIMEOUT');
  return code === undefined ? null : toRejection(new ServiceError(code, ''));
}

function extensionsOf(code: ErrorCode, details: ErrorDetails, requestId: string): Record<string, unknown> {
  const { argument, requiredScopes, grantedScopes, maxStaleness, ageSeconds } = details;
  return { code, argument, requiredScopes, grantedScopes, maxStaleness, ageSeconds, requestId };
}

const logger = new Logger('GraphQL');

export const errorCounts = new Map<ErrorCode, number>();

/** The error for the client, masked and logged once if it is not intended for clients. */
export function formatError(error: GraphQLError, requestId: string): GraphQLFormattedError {
  const { message, locations, path, extensions } = error.toJSON();
  const original = error.originalError ?? error;
  const known = original instanceof RejectionError ? original : asServiceError(original);
  const code = (known?.code as ErrorCode | undefined) ?? codeOf(message, extensions?.['code']);
  countError(code);
  const shared = {
    ...(locations && { locations }),
    ...(path && { path }),
    extensions: extensionsOf(code, known?.details ?? {}, requestId),
  };
  if (known !== null || code !== 'INTERNAL_SERVER_ERROR')
    return { message: bounded(known?.message ?? message), ...shared };
  logger.error(`Request ${requestId} failed: ${original.stack ?? original.message}`);
  return { message: 'The request failed: report its id to the operators', ...shared };
}

export function countError(code: ErrorCode): void {
  errorCounts.set(code, (errorCounts.get(code) ?? 0) + 1);
}

function codeOf(message: string, code: unknown): ErrorCode {
  if (typeof code !== 'string') return 'INTERNAL_SERVER_ERROR';
  // The parser counts tokens and reports too many of them as a syntax error.
  if (code === 'GRAPHQL_PARSE_FAILED' && message.includes('Parsing aborted')) return 'QUERY_TOO_COMPLEX';
  // The validation rules limit the comparisons of fields that may overlap.
  if (code === 'GRAPHQL_VALIDATION_FAILED' && message === 'Validation aborted.') return 'QUERY_TOO_COMPLEX';
  return (ERROR_CODES as string[]).includes(code) ? (code as ErrorCode) : 'INTERNAL_SERVER_ERROR';
}

/** With their charset, as they are sent, so that an Accept header that contains the charset matches too. */
const RESPONSE_TYPES = [
  'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8',
] as const;

/** Rejections of the endpoint and of everything below it: GraphQL responses without data. */
export const GRAPHQL_REJECTIONS: RejectionForm = {
  matches: (request) => isEndpoint(request) || request.url.startsWith(`${GRAPHQL_PATH}/`),
  write: (rejection, requestId, request) => ({
    type: responseType(request.raw) ?? RESPONSE_TYPES[0],
    headers: rateLimitHeaders(request.rateLimits ?? []),
    body: writeErrors(rejection, requestId),
  }),
};

/** The media type that the client prefers; undefined if it accepts none of the endpoint. */
export function responseType(raw: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { accept = '*/*' } = raw.headers;
  // What most clients send. A long field is treated as not acceptable without parsing it.
  if (accept === '*/*' || accept === 'application/json') return RESPONSE_TYPES[0];
  if (accept.length > LONGEST_PARSED_FIELD) return undefined;
  return new Negotiator(raw).mediaType([...RESPONSE_TYPES]);
}

function writeErrors({ code, message, details }: RejectionError, requestId: string): string {
  countError(code as ErrorCode);
  const extensions = extensionsOf(code as ErrorCode, details, requestId);
  return JSON.stringify({ errors: [{ message, extensions }] });
}
