import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

const MAX_BYTES = 10_000_000;

/** Documents by id, as requests send it (src/graphql/http/endpoint.ts). */
const DOCUMENTS = z.record(z.string().regex(/^[\w.~:-]{1,200}$/), z.string().min(1));

/** The documents by id. Without the prefix `sha256:`, which clients may omit. */
export const manifest = z
  .string()
  .trim()
  .transform((file, context): ReadonlyMap<string, string> => {
    const { data, error } = DOCUMENTS.safeParse(readManifest(file));
    const expected = `of at most ${MAX_BYTES} bytes with documents by hash`;
    if (error !== undefined)
      context.addIssue(`names a file that is not a readable JSON object ${expected}: ${file}`);
    return new Map(
      Object.entries(data ?? {}).map(([id, document]) => [id.replace(/^sha256:/, ''), document]),
    );
  });

/** @returns undefined if the file is no JSON */
function readManifest(file: string): unknown {
  try {
    return statSync(file).size > MAX_BYTES ? undefined : JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
