import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import type { Reader } from '../database/reader.js';
import { Batches } from './batches.js';
import type { PathKey } from './operation.js';

/** What the price of an operation came to, and what the caller has left. */
export interface Charge {
  readonly limit: number;
  readonly cost: number;
  readonly remaining: number;
  readonly resetAt: Date;
  readonly nodeCount: number;
}

/** Everything that belongs to one request; made once it is known who asks, and gone with the answer. */
export class RequestContext {
  /** Nest's resolvers look for the request here. */
  readonly req: FastifyRequest;
  batches: Batches;
  /** Set when the operation has been priced, before any of it runs. */
  charge: Charge | null = null;
  /** Where a field was first left out for want of a scope: the path that its error carries. */
  readonly withheldAt = new Map<PathKey, readonly (string | number)[]>();

  constructor(
    readonly request: FastifyRequest,
    /** Null: nobody said who they are. */
    readonly principal: Principal | null,
    private readonly reader: Reader,
  ) {
    this.req = request;
    this.batches = new Batches(reader);
  }

  /** Forgets what the answer has read so far. */
  startAnew(): void {
    this.batches = new Batches(this.reader);
    this.withheldAt.clear();
  }

  get requestId(): string {
    return this.request.id;
  }
}
