import type { FastifyRequest } from 'fastify';
import type { KeySeal } from '../../common/key-seal.js';
import type { Principal } from '../../auth/principal.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { Reader, Statement } from '../../database/statements/statement.js';
import type { Viewer } from '../../database/visibility/viewer.js';
import { viewerOf } from '../../auth/access.js';
import { type Database, VisibleReader } from '../../database/database.js';
import type { OperationCost } from '../analysis/operation-cost.js';
import type { OperationRequest } from '../analysis/operation-policy.js';
import DataLoader from 'dataloader';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { ServiceError } from '../../common/errors.js';

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

/** A selection that needs another scope, with its places in the response. An error at each place would cost thirty times as much. */
export interface Withheld {
  readonly error: GraphQLError;
  readonly paths: (readonly (string | number)[])[];
}

/** The context of the resolvers of one operation. It records the revisions that they read. */
export class RequestContext implements Reader {
  reader!: Reader;
  batches!: Batches;
  /** Null before the operation was charged. */
  cost: OperationCost | null = null;
  /** By the response keys that lead to the selection. */
  withheld!: Map<string, Withheld>;
  private operation: OperationRequest | null = null;
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

  /** Begins an operation, in the copy of the context that Apollo has made. */
  begin(operation: OperationRequest): void {
    this.operation = operation;
    this.reset();
  }

  get parsed(): OperationRequest {
    if (this.operation === null) throw new Error('No operation has begun');
    return this.operation;
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
    this.withheld = new Map();
  }

  /** Notes a place at which a field is null because of a missing scope. */
  withhold(originalError: ServiceError, { path, fieldNodes, parentType }: GraphQLResolveInfo): null {
    const place = responsePathAsArray(path);
    const key = `${place.filter((step) => typeof step === 'string').join('.')} ${parentType.name}`;
    const known = this.withheld.get(key);
    if (known !== undefined) {
      known.paths.push(place);
      return null;
    }
    const error = new GraphQLError(originalError.message, { nodes: fieldNodes, path: place, originalError });
    this.withheld.set(key, { error, paths: [place] });
    return null;
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
