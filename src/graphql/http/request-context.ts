import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import type { Overlay } from '../../database/statements/preview-transaction.js';
import type { Reader } from '../../database/statements/reader.js';
import { RevisionReader } from '../../database/revisions/revision-reader.js';
import { Batches } from '../execution/batches.js';
import type { PathKey } from '../analysis/operation.js';

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
  /** What root fields read through. */
  reader: Reader;
  /** What is below an object is read through these. */
  batches: Batches;
  /** Set when the operation has been priced, before any of it runs. */
  charge: Charge | null = null;
  /** Where a field was first left out for want of a scope: the path that its error carries. */
  readonly withheldAt = new Map<PathKey, readonly (string | number)[]>();
  private preview: Overlay | null = null;
  private revisionReader: RevisionReader;

  constructor(
    readonly request: FastifyRequest,
    /** Null: nobody said who they are. */
    readonly principal: Principal | null,
    private readonly database: Reader,
  ) {
    this.req = request;
    this.revisionReader = new RevisionReader(database, request);
    this.reader = this.revisionReader;
    this.batches = new Batches(this.reader);
  }

  /** Forgets what the answer has read so far. */
  startAnew(): void {
    this.revisionReader = new RevisionReader(this.database, this.request);
    this.reader = this.preview ?? this.revisionReader;
    this.batches = new Batches(this.reader);
    this.withheldAt.clear();
  }

  /** The ids of the revisions of the mirror that the answer has been read from. */
  get revisions(): ReadonlySet<string | null> {
    return this.preview === null ? this.revisionReader.revisions : new Set([this.preview.revision]);
  }

  /** Begins a preview: from here on everything is read from this overlay. */
  startPreview(overlay: Overlay): void {
    this.preview = overlay;
    overlay.counter = this.request;
    this.startAnew();
  }

  /** Where a mutation makes its change, and reads what it has to know for that. */
  get overlay(): Overlay {
    if (this.preview === null) throw new Error('Only mutations have an overlay');
    return this.preview;
  }

  /**
   * Runs one mutation of the operation: nothing of it stays when it throws, and nothing that was read before it is
   * shown after it.
   */
  async change<Payload>(mutation: () => Promise<Payload>): Promise<Payload> {
    await this.overlay.settle();
    const payload = await this.overlay.savepoint(mutation);
    this.batches = new Batches(this.overlay);
    return payload;
  }

  get requestId(): string {
    return this.request.id;
  }
}
