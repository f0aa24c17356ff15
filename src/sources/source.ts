import { createHash } from 'node:crypto';
import type { Field } from '../common/field.js';
import {
  type DirectoryMapping,
  type EntryMapping,
  markOfRules,
  numberOfRules,
} from '../config/model/mapping.js';
import type { DirectoryConfig } from '../config/settings/directory.js';
import { comparedName } from '../database/fields/value-filters.js';
import type { Entry } from '../ldap/entry.js';

/** The version of the mapping. It is incremented when the meaning of mapped content changes. */
export const CONTENT_VERSION = 5;
/** The version of the evaluation of filters. After a change, everything is read. */
const FILTER_VERSION = 2;
/** The version of the folding of DNs and ids. After a change, everything is read, and only the rows of other text stay. */
export const FOLDING_VERSION = 2;

export const KINDS = ['person', 'group'] as const;
export type EntryKind = (typeof KINDS)[number];

/** A person or group of a source. */
export interface SourceEntry {
  readonly kind: EntryKind;
  readonly entry: Entry;
}

/** A record of a source. It is not parsed if the mirror has been written from the same bytes: see RecordDigests. */
export interface SourceRecord {
  /** Null: it is not known before the record is parsed. */
  readonly kind: EntryKind | null;
  /** See keyOfDn. */
  readonly dnKey: string;
  /** The first 128 bits of the SHA-256 of its bytes, in hexadecimal. Null: the bytes are not known. */
  readonly digest: string | null;
  /** Null: neither a person nor a group. Throws errors of src/ldap. */
  readonly parse: () => SourceEntry | null;
}

export interface DirectorySource {
  /** Whether `read` may be called only once, because it reads a session that is then followed. */
  readonly isReadOnce: boolean;
  /**
   * A value that changes with the content, as far as that can be determined without reading it.
   * @throws SourceError when the directory is not available
   */
  fingerprint(): Promise<string>;
  /**
   * Yields every person and group once.
   * @throws SourceError, or an error of src/ldap, when the directory cannot be read completely
   */
  read(signal: AbortSignal): AsyncIterable<SourceEntry>;
  /**
   * As `read`, but yields records that are not parsed yet, several together. Only sources that have the bytes of records have it.
   * @throws IrregularRecordsError, or an error of src/ldap, when the source has to be read by `read`, which also finds out why
   */
  readRecords?(): AsyncIterable<readonly SourceRecord[]>;
  /**
   * After a complete read, the position from which changes can be followed; null when they cannot be
   * followed.
   */
  position(): string | null;
}

type AnyMapping = EntryMapping & Partial<Pick<DirectoryMapping['groups'], 'mayBeEmpty'>>;

const VERSIONS = [CONTENT_VERSION, FOLDING_VERSION, FILTER_VERSION];

/** A hash of everything but the directory itself that a row depends on: mapping, fields, URL and account. */
export function fingerprintOf({ source, mapping, visibility }: DirectoryConfig): string {
  const from = source.kind === 'file' ? [] : [source.url, source.bind?.dn];
  const { users, groups } = mapping;
  const digest = createHash('sha256')
    .update(JSON.stringify([VERSIONS, relevantOf(users), relevantOf(groups), visibility, from]))
    .digest('base64url');
  return `${digest.slice(0, 11)}${markOfRules(numberOfRules(mapping))}`;
}

/** The digest and the rules, as at the end of each fingerprint. */
const MODEL_PARTS = /([\w-]{11})(?:\.(\d+))?$/;

/** The parts of the fingerprint of a source that are from its configuration. `rules` is the number of its rules; empty: there are none. */
export function modelPartsOf(fingerprint: string): { readonly digest: string; readonly rules: string } {
  const [, digest = '', rules = ''] = MODEL_PARTS.exec(fingerprint) ?? [];
  return { digest, rules };
}

/** The members of a mapping that rows depend on. Others, such as a description, do not require a new reading. */
function relevantOf({ fields, hasAssertions, mayBeEmpty, ...others }: AnyMapping): unknown {
  return [others, fields.map(relevantOfField)];
}

function relevantOfField(field: Field): unknown[] {
  const { name, type, attributes, reader, column, isSearchable, reference, change, storedAs } = field;
  return [
    ...[name, type, attributes, reader, column, isSearchable, reference?.to],
    // Rows keep what the attributes of changeable fields hold beyond the value: see EntryReader.sourceValues.
    change !== undefined,
    // Fields without these have the fingerprint of earlier releases.
    ...[storedAs, comparedName(field)].filter((each) => each !== undefined && each !== null),
  ];
}
