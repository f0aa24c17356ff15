import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { oneOf, setting, text, type ValuesOf } from '../setting.js';

const MAX_BYTES = 10_000_000;
const MAX_DOCUMENTS = 10_000;
/** The algorithms of ids that are hashes, by the number of their hexadecimal digits. */
const ALGORITHMS: Readonly<Record<number, string>> = { 40: 'sha1', 64: 'sha256' };
/** An id, as requests send it (src/graphql/http/request-reading.ts). */
const ID = /^[\w.~:-]{1,200}$/;

const NOT_DOCUMENTS = 'names a file that is not a JSON object of documents by hash';

/** The documents by id. Without the prefix `sha256:`, which clients may omit. */
const manifest = text.transform((file, context): ReadonlyMap<string, string> => {
  const entries = readEntries(file);
  if (typeof entries === 'string') {
    context.addIssue(`${entries}: ${file}`);
    return z.NEVER;
  }
  for (const [id, document] of entries)
    for (const problem of problemsOf(id, document))
      context.addIssue(`${file}: «${id.slice(0, 200)}» ${problem}`);
  return new Map(entries.map(([id, document]) => [withoutPrefix(id), String(document)]));
});

/** The documents in a file, or what is wrong with the file. */
function readEntries(file: string): [string, unknown][] | string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_BYTES) return `names a file of more than ${MAX_BYTES} bytes`;
    const { success, data = {} } = z.record(z.string(), z.unknown()).safeParse(JSON.parse(bytes.toString()));
    const entries = Object.entries(data);
    if (!success) return NOT_DOCUMENTS;
    if (entries.length === 0) return 'names a file without documents';
    return entries.length > MAX_DOCUMENTS
      ? `names a file with more than ${MAX_DOCUMENTS} documents`
      : entries;
  } catch (error) {
    return error instanceof SyntaxError ? NOT_DOCUMENTS : 'names a file that cannot be read';
  }
}

function withoutPrefix(id: string): string {
  return id.replace(/^sha256:/, '');
}

function* problemsOf(id: string, document: unknown): Generator<string> {
  if (!ID.test(id)) yield 'is not an id: 1 to 200 letters, digits, and . ~ : - _';
  if (typeof document !== 'string' || document === '' || document.includes('\0')) {
    yield 'is not the id of a text';
    return;
  }
  const digits = withoutPrefix(id);
  const algorithm = /^[0-9a-f]+$/.test(digits) ? ALGORITHMS[digits.length] : undefined;
  if (algorithm !== undefined && createHash(algorithm).update(document).digest('hex') !== digits)
    yield `is not the ${algorithm} of its document: create the file again`;
}

export const TRUSTED_DOCUMENTS_SETTINGS = {
  TRUSTED_DOCUMENTS: setting(
    manifest.optional(),
    'JSON file with the documents that clients may send, by hash, as GraphQL Code Generator writes it. Empty: all documents.',
  ),
  TRUSTED_DOCUMENTS_MODE: setting(
    oneOf(['refuse', 'log']).default('refuse'),
    'Other documents are refused (refuse), or executed and logged once (log).',
  ),
};

export interface TrustedDocumentsConfig {
  /** By id, without the prefix `sha256:`. */
  readonly documents: ReadonlyMap<string, string>;
  /** Whether other documents are refused, and not only logged. */
  readonly isEnforced: boolean;
}

/** @returns null if clients may send all documents */
export function buildTrustedDocuments({
  TRUSTED_DOCUMENTS: documents,
  TRUSTED_DOCUMENTS_MODE: mode,
}: ValuesOf<typeof TRUSTED_DOCUMENTS_SETTINGS>): TrustedDocumentsConfig | null {
  return documents === undefined ? null : { documents, isEnforced: mode === 'refuse' };
}
