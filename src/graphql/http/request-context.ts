import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { Reader } from '../../database/statements/reader.js';
import type { Statement } from '../../database/statements/statement.js';
import type { OperationRequest, PathKey } from '../analysis/operation.js';
import type { OperationLabel } from '../analysis/operation.js';
import { Batches } from '../execution/batches.js';

/** What an operation was charged, and what the principal has left. */
export interface Charge {
  readonly limit: number;
  readonly cost: number;
  readonly remaining: number;
  readonly resetAt: Date;
  readonly nodeCount: number;
}

/** What the context of an operation needs of its request. */
type ContextRequest = Pick<FastifyRequest, 'id' | 'headers'> & {
  readonly principal: Principal | null;
  readonly operation: OperationLabel | null;
  statements: number;
};

/** The context of the resolvers of one operation. It reads for them, and knows what was read from which revision. */
export class RequestContext implements Reader {
  /** What root fields read from. */
  reader: Reader = this;
  /** Fields of several objects read together through these. */
  batches = new Batches(this);
  /** Null before the operation was charged. */
  charge: Charge | null = null;
  /** Where a field was first left out because of a missing scope: the path of its error. */
  readonly withheldAt = new Map<PathKey, readonly (string | number)[]>();
  private readRevisions = new Set<string | null>();
  private preview: PreviewTransaction | null = null;

  constructor(
    readonly request: ContextRequest,
    readonly parsed: OperationRequest,
    private readonly database: Reader,
  ) {}

  /** The request of Fastify, where Nest looks for it. */
  get req(): FastifyRequest {
    return this.request as unknown as FastifyRequest;
  }

  /** Null if the request has no token. */
  get principal(): Principal | null {
    return this.request.principal;
  }

  get requestId(): string {
    return this.request.id;
  }

  /** The ids of the revisions of the mirror that were read. */
  get revisions(): ReadonlySet<string | null> {
    return this.preview === null ? this.readRevisions : new Set([this.preview.revision]);
  }

  /** Reads from the mirror, and notes the revision that each statement returns. */
  async read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]> {
    // Of this attempt, also if another one begins meanwhile.
    const { readRevisions } = this;
    this.request.statements++;
    const rows = await this.database.read<Row>(statement, values);
    const [row] = rows;
    if (statement.tellsRevision && row !== undefined) readRevisions.add(row[row.length - 1] as string | null);
    return rows;
  }

  /** Forgets what was read, for another attempt. */
  reset(): void {
    this.readRevisions = new Set();
    this.reader = this.preview ?? this;
    this.batches = new Batches(this.reader);
    this.withheldAt.clear();
  }

  /** From now on everything is read from this transaction. */
  startPreview(transaction: PreviewTransaction): void {
    this.preview = transaction;
    transaction.counter = this.request;
    this.reset();
  }

  /** Where a mutation makes its change. */
  get previewTransaction(): PreviewTransaction {
    if (this.preview === null) throw new Error('Only mutations have a preview transaction');
    return this.preview;
  }

  /** Runs one mutation of the operation. If it throws, it has no effect; the next one reads nothing from before it. */
  async change<Payload>(mutation: () => Promise<Payload>): Promise<Payload> {
    await this.previewTransaction.settle();
    const payload = await this.previewTransaction.savepoint(mutation);
    this.batches = new Batches(this.previewTransaction);
    return payload;
  }
}
