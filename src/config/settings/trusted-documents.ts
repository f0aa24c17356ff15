import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

const MAX_BYTES = 10_000_000;
const MAX_DOCUMENTS = 10_000;
/** The algorithms of ids that are hashes, by the number of their hexadecimal digits. */
const ALGORITHMS: Readonly<Record<number, string>> = { 40: 'sha1', 64: 'sha256' };
/** An id, as requests send it (src/graphql/http/endpoint.ts). */
const ID = /^[\w.~:-]{1,200}$/;

/** The documents by id. Without the prefix `sha256:`, which clients may omit. */
export const manifest = z
  .string()
  .trim()
  .transform((file, context): ReadonlyMap<string, string> => {
    const entries = readEntries(file);
    if (typeof entries === 'string') {
      context.addIssue(`${entries}: ${file}`);
      return z.NEVER;
    }
    for (const [id, document] of entries) {
      const problem = problemOf(id, document);
      if (problem !== null) context.addIssue(`${file}: «${id.slice(0, 200)}» ${problem}`);
    }
    return new Map(entries.map(([id, document]) => [withoutPrefix(id), String(document)]));
  });

/** The documents in a file, or what is wrong with the file. */
function readEntries(file: string): [string, unknown][] | string {
  try {
    if (statSync(file).size > MAX_BYTES) return `names a file of more than ${MAX_BYTES} bytes`;
    const entries = Object.entries(
      z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8'))),
    );
    if (entries.length === 0) return 'names a file without documents';
    return entries.length > MAX_DOCUMENTS
      ? `names a file with more than ${MAX_DOCUMENTS} documents`
      : entries;
  } catch (error) {
    const isRead = error instanceof SyntaxError || error instanceof z.ZodError;
    return isRead
      ? 'names a file that is not a JSON object of documents by hash'
      : 'names a file that cannot be read';
  }
}

function withoutPrefix(id: string): string {
  return id.replace(/^sha256:/, '');
}

function problemOf(id: string, document: unknown): string | null {
  if (!ID.test(id)) return 'is not an id: 1 to 200 letters, digits, and . ~ : - _';
  if (typeof document !== 'string' || document === '' || document.includes('\0'))
    return 'is not the id of a text';
  const digits = withoutPrefix(id);
  const algorithm = /^[0-9a-f]+$/.test(digits) ? ALGORITHMS[digits.length] : undefined;
  if (algorithm === undefined || createHash(algorithm).update(document).digest('hex') === digits) return null;
  return `is not the ${algorithm} of its document: create the file again`;
}
