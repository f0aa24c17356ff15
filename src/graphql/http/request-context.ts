import type { FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { Reader, Statement } from '../../database/statements/statement.js';
import { seesEverything, type Viewer } from '../../database/visibility/viewer.js';
import { NothingReadError } from '../../database/revisions/revision.js';
import { forViewer, type VisibilitySource } from '../../database/visibility/visible-statement.js';
import type { OperationRequest, PathKey, OperationLabel } from '../analysis/operation.js';
import DataLoader from 'dataloader';

/** Batches the reads of one level, so that each level of an operation costs one statement. */
export class Batches {
  private readonly loaders = new Map<string, DataLoader<unknown, unknown>>();

  /** @param reader source of all reads */
  constructor(private readonly reader: Reader) {}

  /**
   * Loads the value of a key, batched with all calls of the same turn that have the same name.
   * @param name identifies the read, including all its arguments
   * @param read returns the values of many keys from `reader`, in the order of the keys
   */
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

/** What an operation was charged, and what the principal has left. */
export interface Charge {
  readonly limit: number;
  readonly cost: number;
  readonly remaining: number;
  readonly resetAt: Date;
  readonly nodeCount: number;
}

/** The properties of a request that the context of an operation needs. */
type ContextRequest = Pick<FastifyRequest, 'id' | 'headers'> & {
  readonly principal: Principal | null;
  readonly operation: OperationLabel | null;
  statements: number;
};

/**
 * Reads the mirror for one viewer: every statement sees only what the viewer may see (docs/adr/0038). While nothing is hidden,
 * statements run as they are. Such a statement returns no revision if the revision that it reads hides something, and is then
 * repeated for the viewer, so that a wrong `hides` costs time only.
 */
class VisibleReader {
  /** Whether a statement was run for the viewer, so that other viewers may get other rows. */
  isPersonal = false;

  constructor(
    private readonly source: VisibilitySource,
    readonly viewer: Viewer,
  ) {}

  async read<Row extends unknown[]>(asked: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { source, viewer } = this;
    const hint = asked.readsLog === true ? 'hidesInLog' : 'hides';
    if (viewer.limitedTo === null && asked.provesOpen === true && !source[hint]) {
      try {
        return await source.read<Row>(...forViewer(asked, values, viewer, true));
      } catch (error) {
        if (!(error instanceof NothingReadError)) throw error;
      }
      source[hint] = true;
    }
    if (!seesEverything(viewer)) this.isPersonal = true;
    return source.read<Row>(...forViewer(asked, values, viewer, false));
  }
}

/** The context of the resolvers of one operation. It records the revisions that they read. */
export class RequestContext implements Reader {
  reader: Reader = this;
  batches = new Batches(this);
  /** Null before the operation was charged. */
  charge: Charge | null = null;
  /** The first path at which each field was withheld because of a missing scope. Its error has this path. */
  readonly withheldAt = new Map<PathKey, readonly (string | number)[]>();
  private readRevisions = new Set<string | null>();
  private preview: PreviewTransaction | null = null;
  private readonly visible: VisibleReader;

  constructor(
    readonly request: ContextRequest,
    readonly parsed: OperationRequest,
    database: VisibilitySource,
    viewer: Viewer,
  ) {
    this.visible = new VisibleReader(database, viewer);
  }

  /** The request of Fastify, under the name that Nest expects. */
  get req(): FastifyRequest {
    return this.request as unknown as FastifyRequest;
  }

  get principal(): Principal | null {
    return this.request.principal;
  }

  get viewer(): Viewer {
    return this.visible.viewer;
  }

  /** Whether another viewer with the same scopes may get another response. */
  get isPersonal(): boolean {
    return this.visible.isPersonal || this.preview?.isPersonal === true;
  }

  get requestId(): string {
    return this.request.id;
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
    this.withheldAt.clear();
  }

  /** Makes all further reads use this transaction. */
  startPreview(transaction: PreviewTransaction): void {
    this.preview = transaction;
    transaction.counter = this.request;
    this.reset();
  }

  /** The transaction in which mutations make their changes. */
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
