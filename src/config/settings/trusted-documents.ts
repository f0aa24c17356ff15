import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

const MAX_BYTES = 10_000_000;
const NO_TEXT = 'which is not the id of a text';

/** Documents by id, as requests send it (src/graphql/http/endpoint.ts). */
const DOCUMENTS = z.record(
  z.string().regex(/^[\w.~:-]{1,200}$/, 'which is not an id: 1 to 200 letters, digits, and . ~ : - _'),
  z.string(NO_TEXT).min(1, NO_TEXT),
  `is not a readable JSON object of at most ${MAX_BYTES} bytes with documents by hash`,
);

/** The documents by id. Without the prefix `sha256:`, which clients may omit. */
export const manifest = z
  .string()
  .trim()
  .transform((file, context): ReadonlyMap<string, string> => {
    const { data, error } = DOCUMENTS.safeParse(readManifest(file));
    for (const issue of error?.issues ?? []) {
      const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message;
      const fault =
        issue.path.length === 0 ? message : `has «${String(issue.path[0]).slice(0, 200)}», ${message}`;
      context.addIssue(`names a file that ${fault}: ${file}`);
    }
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
