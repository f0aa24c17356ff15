import { Logger } from '@nestjs/common';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { ServiceError, ServiceUnavailableError } from '../../common/errors.js';
import { LONGEST_PARSED_FIELD } from '../../common/request-fields.js';
import { formatError, httpOf, toGraphQLError, toldErrors } from './error-response.js';

export const GRAPHQL_PATH = '/graphql/v1';

/** With their charset, as they are sent: an Accept that names it matches too. */
const RESPONSE_TYPES = [
  'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8',
];

const logger = new Logger('GraphQL');

/** A refusal whose status says more than its code. */
export class StatusError extends ServiceError {
  constructor(
    readonly status: number,
    ...rest: ConstructorParameters<typeof ServiceError>
  ) {
    super(...rest);
  }
}

/** A refusal as HTTP carries it. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** Whether a request is for the endpoint or something below it, whatever is there. */
export function isForGraphQL(request: Pick<FastifyRequest, 'url' | 'routeOptions'>): boolean {
  return isEndpoint(request) || request.url.startsWith(`${GRAPHQL_PATH}/`);
}

/** Whether a request is for the endpoint itself: the router also knows its path by other spellings. */
export function isEndpoint(request: Pick<FastifyRequest, 'url' | 'routeOptions'>): boolean {
  const { url } = request;
  if (url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`)) return true;
  // Fastify makes an object of these each time.
  return request.routeOptions.url === GRAPHQL_PATH;
}

/** The media type that the client prefers; undefined when it accepts none of ours. */
export function responseType({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined {
  // What is too long is refused for it, and not parsed to say so.
  if ((raw.headers.accept?.length ?? 0) > LONGEST_PARSED_FIELD) return undefined;
  return new Negotiator(raw).mediaType(RESPONSE_TYPES);
}

/** As above, and one of ours in any case: who accepts none is told of something else first. */
export function typeOfRefusal(request: Pick<FastifyRequest, 'raw'>): string {
  return responseType(request) ?? RESPONSE_TYPES[0] ?? '';
}

/** Answers a request that never became an operation. */
export function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, headers, body } = buildRefusal(error, request.id);
  return reply.code(status).headers(headers).type(typeOfRefusal(request)).send(body);
}

/** What is refused when there is too much to do must not add to it: this refusal is written once, around its request's id. */
const TOO_MUCH = buildRefusal(
  new ServiceUnavailableError('There is more to do than can be done in time: try again in a second'),
  '{id}',
);
const [BEFORE_ID = '', AFTER_ID = ''] = TOO_MUCH.body.split('{id}');
// So far nobody was told.
toldErrors.clear();

/** Refuses an operation that cannot be answered in time at the moment. */
export function refuseForNow(request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers } = TOO_MUCH;
  void reply
    .code(status)
    .headers(headers)
    .type(request.answerType ?? typeOfRefusal(request))
    .send(BEFORE_ID + request.id + AFTER_ID);
}

/** The same, to a request that Fastify has not seen. */
export function refusalForNow(requestId: string): Refusal {
  const { status, headers } = TOO_MUCH;
  return { status, headers, body: BEFORE_ID + requestId + AFTER_ID };
}

/** The refusal as a GraphQL response. A failure of ours is masked, and logged here. */
export function buildRefusal(error: unknown, requestId: string): Refusal {
  const known = error instanceof ServiceError ? error : serviceErrorOf(error as FastifyError);
  if (known === null) {
    logger.error(`Request ${requestId} failed: ${error instanceof Error ? (error.stack ?? '') : ''}`);
  }
  const shown = known ?? new ServiceError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side');
  const { status, headers } = httpOf(shown);
  const graphQLError = toGraphQLError(shown, { refuses: false });
  return {
    status: shown instanceof StatusError ? shown.status : status,
    headers: {
      ...Object.fromEntries(headers),
      ...(shown.code === 'METHOD_NOT_ALLOWED' ? { allow: 'GET, POST' } : {}),
      'cache-control': 'no-store',
    },
    body: JSON.stringify({ errors: [formatError(graphQLError.toJSON(), graphQLError, requestId)] }),
  };
}

/** What Fastify refuses itself, in our words and without a part of the request; null when it is a failure of ours. */
function serviceErrorOf({ code, statusCode }: Partial<FastifyError>): ServiceError | null {
  switch (statusCode) {
    case 404:
      return new StatusError(404, 'NOT_FOUND', `There is nothing here: the endpoint is ${GRAPHQL_PATH}`);
    case 413:
      return new ServiceError('PAYLOAD_TOO_LARGE', 'The body is larger than LIMIT_BODY_BYTES allows');
    case 415:
      return new ServiceError(
        'UNSUPPORTED_MEDIA_TYPE',
        'The body must be JSON: Content-Type: application/json',
      );
    case 400:
      return new ServiceError('BAD_REQUEST', WORDS[code ?? ''] ?? 'The request is malformed');
    default:
      return null;
  }
}

const WORDS: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as Content-Length says',
  FST_ERR_BAD_URL: 'The URL is not encoded as URLs are',
};
