import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

const MAX_BYTES = 10_000_000;
const MAX_DOCUMENTS = 10_000;
/** The algorithms of ids that are hashes, by the number of their hexadecimal digits. */
const ALGORITHMS: Readonly<Record<number, string>> = { 40: 'sha1', 64: 'sha256' };
/** An id, as requests send it (src/graphql/http/endpoint.ts). */
const ID = /^[\w.~:-]{1,200}$/;

const DOCUMENTS = z
  .record(z.string(), z.unknown(), {
    error: `is not a readable JSON object of at most ${MAX_BYTES} bytes with documents by hash`,
  })
  .superRefine((documents, context) => {
    const entries = Object.entries(documents);
    if (entries.length === 0 || entries.length > MAX_DOCUMENTS)
      context.addIssue(`has not 1 to ${MAX_DOCUMENTS} documents`);
    for (const [id, document] of entries) {
      const problem = problemOf(id, document);
      if (problem !== null) context.addIssue(`has «${id.slice(0, 200)}», which ${problem}`);
    }
  });

/** The documents by id. Without the prefix `sha256:`, which clients may omit. */
export const manifest = z
  .string()
  .trim()
  .transform((file, context): ReadonlyMap<string, string> => {
    const { data, error } = DOCUMENTS.safeParse(readManifest(file));
    for (const { message } of error?.issues ?? []) context.addIssue(`names a file that ${message}: ${file}`);
    return new Map(Object.entries(data ?? {}).map(([id, document]) => [withoutPrefix(id), String(document)]));
  });

/** @returns undefined if the file is no JSON */
function readManifest(file: string): unknown {
  try {
    return statSync(file).size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
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
