import { BadUserInputError } from '../../common/errors.js';

/** A document that a request names, besides its text or instead of it. */
export interface DocumentReference {
  /** The SHA-256 of the text, in lower-case hexadecimal digits, or another id of a trusted document. */
  readonly id: string;
  /** The member of the request that names it, for errors. */
  readonly member: typeof HASH_MEMBER | 'documentId';
}

const PERSISTED_QUERY = 'extensions.persistedQuery';
const HASH_MEMBER = `${PERSISTED_QUERY}.sha256Hash`;

/** The characters of a document id (GraphQL over HTTP, draft, appendix A), and the most of them. */
const DOCUMENT_ID = /^[\w.~:-]{1,200}$/;

/**
 * The document that a request names: by `extensions.persistedQuery`, as Apollo's clients do, or without a `query` by
 * `documentId` (GraphQL over HTTP, draft, appendix A). Null if it names none. Throws BadUserInputError.
 */
export function referenceIn({
  query,
  documentId,
  extensions,
}: Readonly<Record<string, unknown>>): DocumentReference | null {
  const persisted = (extensions as Record<string, unknown> | null | undefined)?.['persistedQuery'] ?? null;
  if (persisted !== null) return readPersistedQuery(persisted);
  if (!isWithoutText(query) || typeof documentId !== 'string') return null;
  return { id: readId(documentId, 'documentId'), member: 'documentId' };
}

/** Whether a request has no document. Some clients send an empty one with a hash. */
export function isWithoutText(query: unknown): boolean {
  return query === undefined || query === null || query === '';
}

function readPersistedQuery(persisted: unknown): DocumentReference {
  const { version, sha256Hash } = Object(persisted) as Record<string, unknown>;
  if (version !== 1)
    throw new BadUserInputError('Unsupported persisted query version', `${PERSISTED_QUERY}.version`);
  return { id: readId(sha256Hash, HASH_MEMBER), member: HASH_MEMBER };
}

function readId(value: unknown, member: DocumentReference['member']): string {
  if (typeof value === 'string' && DOCUMENT_ID.test(value)) return value.replace(/^sha256:/, '');
  throw new BadUserInputError(`${member} must be a hash or an id of at most 200 characters`, member);
}
