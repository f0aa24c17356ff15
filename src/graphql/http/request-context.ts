import {
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  type OperationTypeNode,
  GraphQLError,
  type GraphQLResolveInfo,
  responsePathAsArray,
} from 'graphql';
import type { PersonalDataAccess } from '../../access-log/personal-data.decorator.js';
import type { Principal } from '../../auth/principal.js';
import type { MirrorRead } from '../../database/revisions.js';
import type { RejectedRequest } from '../../http/rejection.js';
import type { PolicyDecision, Variables, OperationRequest } from '../analysis/operation-policy.js';
import type { CachedResponse } from '../cache/response-cache.js';
import type { RateLimitState } from '../rate-limit/rate-limiter.js';
import type { GraphQLRequest } from '@apollo/server';
import type { FastifyRequest } from 'fastify';
import type { KeySeal } from '../../common/cursor.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { Reader, Statement } from '../../database/statements/statement.js';
import type { Viewer } from '../../database/visibility/viewer.js';
import { viewerOf } from '../../auth/access.js';
import { type Database, VisibleReader } from '../../database/database.js';
import DataLoader from 'dataloader';
import type { ServiceError } from '../../common/errors.js';

export const GRAPHQL_PATH = '/graphql/v1';

/** Whether a request is for the endpoint itself. The router also accepts other spellings of its path. */
export function isEndpoint(request: Pick<RejectedRequest, 'url' | 'routeOptions'>): boolean {
  const { url } = request;
  // Fastify builds these options for each call.
  return (
    url === GRAPHQL_PATH || url.startsWith(`${GRAPHQL_PATH}?`) || request.routeOptions.url === GRAPHQL_PATH
  );
}

/** The parameters of a request (GraphQL over HTTP, draft, §5.4). Of `extensions`, only `persistedQuery` is used. */
export interface RequestParameters extends Pick<GraphQLRequest, 'query' | 'operationName' | 'variables'> {
  /** The SHA-256 of the text, or the id of a trusted document, and the member that names it. */
  readonly reference: { readonly id: string; readonly member: string } | null;
}

/** The label of an operation in logs and metrics. It contains no data of the request. */
export interface OperationLabel {
  readonly type: `${OperationTypeNode}`;
  /** The operation name from the client; null if there is none, or if it is too long. */
  readonly name: string | null;
  /** Its root field; `several` for more than one, or `schema` if it selects introspection only. */
  readonly field: string;
}

export interface ValidatedOperation {
  readonly decision: PolicyDecision;
  readonly document: DocumentNode;
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

export class RequestState {
  principal: Principal | null = null;
  /** The rate limits that were charged, requests first; null if the request is not for the endpoint. */
  rateLimits: RateLimitState[] | null = null;
  responseType: string | null = null;
  /** Maximum age of the mirror in seconds; null if there is no limit. */
  maxStaleness: number | null = null;
  bodyText: string | null = null;
  parameters: RequestParameters | null = null;
  cached: CachedResponse | null = null;
  validated: ValidatedOperation | null = null;
  operation: OperationLabel | null = null;
  statements = 0;
  /** The state from which the response was read; null if it contains nothing of the mirror. */
  mirrorRead: MirrorRead | null = null;
  personalData: PersonalDataAccess | null = null;
}

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- only an interface can be merged
  interface FastifyRequest extends RequestState {}
}

/** Batches the reads of one level, so that each level of an operation costs one statement. */
export class Batches {
  private readonly loaders = new Map<string, DataLoader<unknown, unknown>>();

  constructor(private readonly reader: Reader) {}

  /** @param name identifies the read, including all its arguments */
  load<Key extends number | string, Value>(
    name: string,
    key: Key,
    read: (keys: readonly Key[], reader: Reader) => Promise<Value[]>,
  ): Promise<Value> {
    let loader = this.loaders.get(name) as DataLoader<Key, Value> | undefined;
    if (loader === undefined) {
      // An async function, so that an error thrown before the read rejects the promises of the callers.
      loader = new DataLoader<Key, Value>(async (keys) => read(keys, this.reader));
      this.loaders.set(name, loader);
    }
    return loader.load(key);
  }
}

/** The context of the resolvers of one operation. It records the revisions that they read. */
export class RequestContext implements Reader {
  reader!: Reader;
  batches!: Batches;
  /** The error of a selection that needs another scope, by its nodes: graphql-js has one list of them for all rows. */
  private refused!: Map<readonly FieldNode[], GraphQLError>;
  parsed!: OperationRequest;
  private readRevisions!: Set<string | null>;
  private preview: PreviewTransaction | null = null;
  private made: VisibleReader | null = null;

  /** @param bypass the scope of tokens that see everything; null: there is none */
  constructor(
    readonly request: FastifyRequest,
    private readonly database: Database,
    private readonly bypass: string | null,
  ) {}

  /** Made with the first read: cached responses need none. */
  private get visible(): VisibleReader {
    this.made ??= new VisibleReader(this.database, viewerOf(this.principal, this.bypass));
    return this.made;
  }

  begin(operation: OperationRequest): void {
    this.parsed = operation;
    this.reset();
  }

  /** The request of Fastify, under the name that Nest expects. */
  get req(): FastifyRequest {
    return this.request;
  }

  get principal(): Principal | null {
    return this.request.principal;
  }

  get viewer(): Viewer {
    return this.visible.viewer;
  }

  get seal(): KeySeal {
    return this.visible.seal;
  }

  /** Whether another viewer with the same scopes may get another response. */
  get isPersonal(): boolean {
    return this.visible.isPersonal || this.preview?.isPersonal === true;
  }

  get revisions(): ReadonlySet<string | null> {
    return this.preview === null ? this.readRevisions : new Set([this.preview.revision]);
  }

  /** Reads from the mirror and records the revision that each statement returns. */
  async read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    // The set of this attempt, even if another attempt begins in the meantime.
    const { readRevisions } = this;
    this.request.statements++;
    const rows = await this.visible.read<Row>(statement, values);
    const [row] = rows;
    if (statement.returnsRevision && row !== undefined)
      readRevisions.add(row[row.length - 1] as string | null);
    return rows;
  }

  reset(): void {
    this.readRevisions = new Set();
    this.reader = this.preview ?? this;
    this.batches = new Batches(this.reader);
    this.refused = new Map();
  }

  /**
   * Throws the error of a selection that needs another scope, at one more place. It is made once for all places: its stack and its
   * location would take thirty times as long.
   */
  refuse(reason: () => ServiceError | null, { path, fieldNodes: nodes }: GraphQLResolveInfo): never {
    let error = this.refused.get(nodes);
    if (error === undefined) {
      const originalError = reason();
      error = new GraphQLError(originalError?.message ?? '', { nodes, originalError });
      this.refused.set(nodes, error);
    }
    throw Object.create(error, { path: { value: responsePathAsArray(path) } }) as GraphQLError;
  }

  startPreview(transaction: PreviewTransaction): void {
    this.preview = transaction;
    transaction.counter = this.request;
    this.reset();
  }

  get previewTransaction(): PreviewTransaction {
    if (this.preview === null) throw new Error('Only mutations have a preview transaction');
    return this.preview;
  }

  /** Runs one mutation, which has no effect if it throws. The next one reuses no reads from before. */
  async change<Payload>(mutation: () => Promise<Payload>): Promise<Payload> {
    await this.previewTransaction.settle();
    const payload = await this.previewTransaction.savepoint(mutation);
    this.batches = new Batches(this.previewTransaction);
    return payload;
  }
}
