import type { DocumentNode, ExecutionResult, GraphQLSchema, OperationTypeNode } from 'graphql';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import type { Principal } from '../../auth/principal.js';
import type { MirrorRead } from '../../database/revisions.js';
import type { RejectedRequest } from '../../http/rejection.js';
import type { PolicyDecision, Variables } from '../analysis/operation-policy.js';
import type { CachedResponse } from '../cache/response-cache.js';
import type { RateLimitState } from '../rate-limit/rate-limiter.js';
import type { RequestContext } from './request-context.js';

export const GRAPHQL_PATH = '/graphql/v1';

/** Whether a request is for the endpoint itself. The router also accepts other spellings of its path. */
export function isEndpoint(request: Pick<RejectedRequest, 'url' | 'routeOptions'>): boolean {
  const { url } = request;
  // Fastify builds these options for each call.
  return (
    url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`) || request.routeOptions.url === GRAPHQL_PATH
  );
}

/** A document that a request names, besides its text or instead of it. */
export interface DocumentReference {
  /** The SHA-256 of the text, in lower-case hexadecimal digits, or another id of a trusted document. */
  readonly id: string;
  /** The member of the request that names it, for errors. */
  readonly member: 'extensions.persistedQuery.sha256Hash' | 'documentId';
}

/** The parameters of a request (GraphQL over HTTP, draft, §5.4). Of `extensions`, only `persistedQuery` is used. */
export interface RequestParameters {
  /** Empty before the document that `reference` names is found. */
  readonly query: string;
  readonly reference: DocumentReference | null;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
}

/** The label of an operation in logs and metrics. It contains no data of the request. */
export interface OperationLabel {
  readonly type: `${OperationTypeNode}`;
  /** The operation name from the client; null if there is none, or if it is too long. */
  readonly name: string | null;
  /** Its root field; `several` for more than one, or `schema` if it selects introspection only. */
  readonly field: string;
}

export interface ValidatedOperation extends PolicyDecision {
  readonly document: DocumentNode;
  /** The schema restricted to the scopes of the token. */
  readonly schema: GraphQLSchema;
  readonly variables: Variables;
  /** Null if graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
}

/** A compiled operation with the results of graphql-js. It takes the variables coerced and as sent. */
export type CompiledQuery = (
  context: RequestContext,
  coerced: Variables,
  sent: Variables,
) => ExecutionResult | Promise<ExecutionResult>;

/** What the steps of the endpoint know of a request. */
export class RequestState {
  /** Null if the request has no token. */
  principal: Principal | null = null;
  /** The rate limits that were charged, requests first; null if the request is not for the endpoint. */
  rateLimits: RateLimitState[] | null = null;
  /** The media type of the response; null before the head is read. */
  responseType: string | null = null;
  /** Maximum age of the mirror in seconds; null if there is no limit. */
  maxStaleness: number | null = null;
  /** The body as it was sent; null if there is none. */
  bodyText: string | null = null;
  parameters: RequestParameters | null = null;
  cached: CachedResponse | null = null;
  validated: ValidatedOperation | null = null;
  /** The label for logs and metrics; null if there is no operation. */
  operation: OperationLabel | null = null;
  /** Number of statements that the operation has sent. */
  statements = 0;
  /** The state from which the response was read; null if it contains nothing of the mirror. */
  mirrorRead: MirrorRead | null = null;
  /** The personal data in the response; null if there is none. */
  personalData: PersonalDataAccess | null = null;
  /** Whether clients may keep the response, and ask whether it has changed. */
  isRevalidated = false;
}

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- only an interface can be merged
  interface FastifyRequest extends RequestState {}
}
