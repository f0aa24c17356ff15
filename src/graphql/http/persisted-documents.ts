import { hash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import { type Config, ConfigError } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { RejectionError } from '../../http/rejection.js';
import { Limit, Limits } from '../../limits/limits.js';
import { SharedCounts } from '../../limits/shared-counts.js';
import type { FastifyRequest } from 'fastify';
import type { DocumentReference, RequestParameters } from './request-state.js';

/** Bytes of all documents of a process. */
const MAX_BYTES = 20_000_000;
/** Bytes of new documents of one principal in a day, so that no principal displaces the documents of all others. */
const MAX_BYTES_PER_PRINCIPAL = 2_000_000;
const DAY_SECONDS = 86_400;
/** Bytes of a document besides its text, at two bytes a character. It also limits their number. */
const OVERHEAD_BYTES = 300;

const bytesOf = (text: string) => 2 * text.length + OVERHEAD_BYTES;

function sha256Of(text: string): string {
  return hash('sha256', text);
}

/** Automatic persisted queries by SHA-256: in the memory of the process, and for a day in Redis, if there is one. */
@Injectable()
export class DocumentStore {
  private readonly texts = new LRUCache<string, string>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf });
  private readonly limit = new Limit('documents', MAX_BYTES_PER_PRINCIPAL, DAY_SECONDS);

  constructor(
    private readonly limits: Limits,
    @Inject(SharedCounts) private readonly shared: SharedCounts | null,
  ) {}

  /** The text; null if it is unknown. It is synchronous if this process knows it. */
  find(sha256: string): string | null | Promise<string | null> {
    const text = this.texts.get(sha256) ?? null;
    return text !== null || this.shared === null ? text : this.findShared(sha256, this.shared);
  }

  /** Keeps the text, unless the principal has registered too much today. A text that this process knows costs nothing. */
  async keep(sha256: string, text: string, principal: string): Promise<void> {
    if (this.texts.get(sha256) !== text) {
      const { isTaken } = await this.limits.takeOne(this.limit, principal, bytesOf(text));
      if (!isTaken) return;
      this.texts.set(sha256, text);
    }
    // Also if this process knows it: another process has not found it in Redis, where its day has ended.
    await this.shared?.keepText(keyOf(sha256), text, DAY_SECONDS);
  }

  private async findShared(sha256: string, shared: SharedCounts): Promise<string | null> {
    const text = await shared.findText(keyOf(sha256));
    // Others may write to Redis.
    if (text === null || sha256Of(text) !== sha256) return null;
    this.texts.set(sha256, text);
    return text;
  }
}

function keyOf(sha256: string): string {
  return `document:${sha256}`;
}

/** Other documents that are remembered as logged. */
const MAX_LOGGED = 1000;

/** The documents of TRUSTED_DOCUMENTS, which clients may send (docs/adr/0047). */
@Injectable()
export class TrustedDocuments {
  private readonly logger = new Logger('GraphQL');
  /** Null: all documents are trusted. */
  private readonly byId: ReadonlyMap<string, string> | null;
  private readonly texts: ReadonlySet<string>;
  /** Whether other documents are refused. */
  readonly isEnforced: boolean;
  private readonly logged = new LRUCache<string, true>({ max: MAX_LOGGED });

  constructor(@Inject(CONFIG) { trustedDocuments }: Config) {
    this.byId = trustedDocuments?.documents ?? null;
    this.texts = new Set(this.byId?.values());
    this.isEnforced = trustedDocuments?.isEnforced ?? false;
  }

  get trustsAll(): boolean {
    return this.byId === null;
  }

  find(id: string): string | null {
    return this.byId?.get(id) ?? null;
  }

  /**
   * Decides about a text that a client has sent.
   * @throws ServiceError DOCUMENT_NOT_TRUSTED
   */
  admit(text: string): void {
    if (this.byId === null || this.texts.has(text)) return;
    if (this.isEnforced) throw notTrusted();
    const sha256 = sha256Of(text);
    if (this.logged.has(sha256)) return;
    this.logged.set(sha256, true);
    this.logger.warn(`A document is not in TRUSTED_DOCUMENTS: SHA-256 ${sha256}`);
  }

  /**
   * Checks all documents before the first request.
   * @param findErrors returns the errors of a document
   * @throws ConfigError with all errors of all documents
   */
  async check(findErrors: (text: string) => readonly string[] | Promise<readonly string[]>): Promise<void> {
    const problems: string[] = [];
    for (const [id, text] of this.byId ?? [])
      for (const error of await findErrors(text))
        problems.push(`TRUSTED_DOCUMENTS: «${id}» is not valid: ${error}`);
    if (problems.length > 0) throw new ConfigError(problems);
  }
}

function notTrusted(): ServiceError {
  const message = 'This service executes only the documents that its operators have approved';
  return new ServiceError('DOCUMENT_NOT_TRUSTED', message);
}

const SHA256 = /^[0-9a-f]{64}$/;

/** The steps that find the document that a request names, and register it (docs/adr/0047). */
@Injectable()
export class PersistedDocuments {
  /** Whether there are documents that are not trusted. */
  readonly isRestricted: boolean;

  constructor(
    private readonly store: DocumentStore,
    private readonly trusted: TrustedDocuments,
  ) {
    this.isRestricted = !trusted.trustsAll;
  }

  /**
   * Finds the text of the document.
   * @throws RejectionError PERSISTED_QUERY_NOT_FOUND: the client sends it again, with its text
   * @throws BadUserInputError if the hash is malformed, or not that of the text
   * @throws ServiceError DOCUMENT_NOT_TRUSTED
   */
  resolve(request: FastifyRequest): void | Promise<void> {
    const { parameters } = request;
    if (parameters === null) throw new Error('Earlier steps are missing');
    const { query, reference } = parameters;
    const trusted = reference === null ? null : this.trusted.find(reference.id);
    if (trusted !== null && (query === '' || query === trusted)) {
      request.parameters = { ...parameters, query: trusted };
      return;
    }
    if (query !== '') this.trusted.admit(query);
    if (reference === null) return;
    if (query === '') return this.find(reference, parameters, request);
    checkHash(reference);
    if (sha256Of(query) !== reference.id)
      throw new BadUserInputError('provided sha does not match query', reference.member);
    request.registers = reference.id;
  }

  /** Registers the document of an operation that the policy allows, for principals only. */
  register({ registers, principal, parameters }: FastifyRequest): void | Promise<void> {
    if (registers === null || principal === null || parameters === null) return;
    return this.store.keep(registers, parameters.query, principal.countedAs);
  }

  private find(
    reference: DocumentReference,
    parameters: RequestParameters,
    request: FastifyRequest,
  ): void | Promise<void> {
    if (this.trusted.isEnforced) throw notTrusted();
    checkHash(reference);
    const use = (text: string | null) => {
      if (text === null) throw notFound(reference);
      // Another process, or this one before a restart, may have registered it.
      this.trusted.admit(text);
      request.parameters = { ...parameters, query: text };
    };
    const text = this.store.find(reference.id);
    if (text instanceof Promise) return text.then(use);
    use(text);
  }
}

function checkHash({ id, member }: DocumentReference): void {
  if (SHA256.test(id)) return;
  throw new BadUserInputError(`${member} must be a SHA-256 of 64 lower-case hexadecimal digits`, member);
}

/** Apollo's clients recognize the message, and expect 200, as of Apollo Server. A request by `documentId` expects 400. */
function notFound({ member }: DocumentReference): RejectionError {
  const [status, message] =
    member === 'documentId'
      ? [400, 'No document has this id: send it in `query` with its hash in `extensions.persistedQuery`']
      : [200, 'PersistedQueryNotFound'];
  return new RejectionError(status, 'PERSISTED_QUERY_NOT_FOUND', message);
}
