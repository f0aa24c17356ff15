import { Injectable } from '@nestjs/common';
import { BadUserInputError } from '../../common/errors.js';
import { RejectionError } from '../../http/rejection.js';
import type { PipelineRequest, RequestParameters } from '../http/pipeline-request.js';
import { DocumentStore, sha256Of } from './document-store.js';
import type { DocumentReference } from './document-reference.js';
import { notTrusted, TrustedDocuments } from './trusted-documents.js';

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
  resolve(request: PipelineRequest): void | Promise<void> {
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
    // A cached response would end the next request with this text before its document is registered.
    request.cacheKey = null;
  }

  /** Registers the document of an operation that the policy allows, for principals only. */
  register({ registers, principal, parameters }: PipelineRequest): void | Promise<void> {
    if (registers === null || principal === null || parameters === null) return;
    return this.store.keep(registers, parameters.query, principal.countedAs);
  }

  private find(
    reference: DocumentReference,
    parameters: RequestParameters,
    request: PipelineRequest,
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
