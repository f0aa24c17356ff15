import { createHash } from 'node:crypto';
import type { DirectoryConfig } from '../config/settings/directory.js';
import type { Entry } from '../ldap/entry.js';

/** Changes when the meaning of mapped content does, so that every row is compared anew. */
export const CONTENT_VERSION = 3;

export type EntryKind = 'person' | 'group';

/** A directory that can be read from one end to the other. */
export interface DirectorySource {
  /**
   * Stands for what there is to read, as far as that can be told without reading it.
   * @throws SourceError when the directory is not there
   */
  fingerprint(): Promise<string>;
  /**
   * Every person and group, each once.
   * @throws SourceError, or what the room ldap throws, when it cannot be read to its end
   */
  read(signal: AbortSignal): AsyncIterable<{ kind: EntryKind; entry: Entry }>;
  /** Once it has been read: from where changes can be followed, in the source's own words; null: nowhere. */
  position(): string | null;
}

/** Stands for everything but the directory itself that the content of a row depends on. */
export function fingerprintOf({ source, mapping }: DirectoryConfig): string {
  const from = source.kind === 'file' ? [] : [source.url, source.bind?.dn];
  return createHash('sha256')
    .update(JSON.stringify([CONTENT_VERSION, mapping, from]))
    .digest('base64url')
    .slice(0, 11);
}
