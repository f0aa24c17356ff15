import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { type ErrorCode, ServiceUnavailableError } from '../../common/errors.js';
import { LONGEST_PARSED_FIELD } from '../../common/request-fields.js';
import {
  type RejectedRequest,
  type Rejection,
  type RejectionForm,
  toRejection,
} from '../../http/rejection.js';
import { countError, extensionsOf } from './error-response.js';

export const GRAPHQL_PATH = '/graphql/v1';

/** With their charset, as they are sent, so that an Accept header that contains the charset matches too. */
const RESPONSE_TYPES = [
  'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8',
] as const;

/** Rejections of the endpoint and of everything below it: GraphQL responses without data. */
export const GRAPHQL_REJECTIONS: RejectionForm = {
  matches: (request) => isEndpoint(request) || request.url.startsWith(`${GRAPHQL_PATH}/`),
  write: (rejection, requestId, request) => ({
    type: rejectionType(request?.raw ?? null),
    headers: {},
    body: writeErrors(rejection, requestId),
  }),
};

/** Whether a request is for the endpoint itself. The router also accepts other spellings of its path. */
export function isEndpoint({ url, routeOptions }: Pick<RejectedRequest, 'url' | 'routeOptions'>): boolean {
  return url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`) || routeOptions.url === GRAPHQL_PATH;
}

/**
 * The media type that the client prefers; undefined if it accepts none of the media types of the endpoint.
 */
export function responseType(raw: Pick<IncomingMessage, 'headers'>): string | undefined {
  // A longer field is treated as not acceptable without parsing it.
  if ((raw.headers.accept?.length ?? 0) > LONGEST_PARSED_FIELD) return undefined;
  return new Negotiator(raw).mediaType([...RESPONSE_TYPES]);
}

/** The media type of a rejection: the preferred one, or the default if the client accepts none. */
export function rejectionType(raw: Pick<IncomingMessage, 'headers'> | null): string {
  return (raw === null ? undefined : responseType(raw)) ?? RESPONSE_TYPES[0];
}

function writeErrors({ code, message, details }: Rejection, requestId: string): string {
  countError(code as ErrorCode);
  const extensions = { ...extensionsOf(code as ErrorCode, details), requestId };
  return JSON.stringify({ errors: [{ message, extensions }] });
}

/** The overloaded response is written once, around the request id, because it must not add to the load. */
const OVERLOADED = toRejection(
  new ServiceUnavailableError('The service is overloaded: try again in a second'),
);
const [BEFORE_ID = '', AFTER_ID = ''] = JSON.stringify({
  errors: [
    {
      message: OVERLOADED.message,
      extensions: { ...extensionsOf('SERVICE_UNAVAILABLE', {}), requestId: '{id}' },
    },
  ],
}).split('{id}');
export const OVERLOADED_HEADERS = { ...OVERLOADED.headers, 'cache-control': 'no-store' };

/** The body of the overloaded response, which has the status 503. */
export function writeOverloaded(requestId: string): string {
  return BEFORE_ID + requestId + AFTER_ID;
}
