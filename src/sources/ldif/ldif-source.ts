import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { EntryMapping } from '../../config/model/mapping.js';
import type { DirectoryConfig, FileSourceConfig } from '../../config/settings/directory.js';
import { isBelow } from '../../ldap/naming/dn.js';
import type { Entry } from '../../ldap/entry.js';
import { compileFilter } from '../../ldap/filter/filter.js';
import { readLdif } from '../../ldap/ldif/ldif.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import {
  type DirectorySource,
  type EntryKind,
  fingerprintOf,
  type SourceEntry,
  type SourceRecord,
} from '../source.js';
import { SourceError } from '../source.error.js';
import { digestOfBytes } from '../source-records.js';
import {
  dnOfRecord,
  IrregularRecordsError,
  parseRecord,
  type RecordBytes,
  recordsOf,
  refuseBeginning,
} from './ldif-records.js';

const CHUNK = 1 << 18;

/** A directory that is stored in an LDIF content file. */
export class LdifSource implements DirectorySource {
  readonly isReadOnce = false;
  private readonly isPerson: (entry: Entry) => boolean;
  private readonly isGroup: (entry: Entry) => boolean;
  private readonly fingerprintOfConfig: string;

  /** @throws InvalidFilterError, InvalidDnError: the configuration validates filters and bases first */
  constructor(
    private readonly config: DirectoryConfig,
    private readonly source: FileSourceConfig,
  ) {
    this.fingerprintOfConfig = fingerprintOf(config);
    const { users, groups } = config.mapping;
    this.isPerson = chooser(users);
    this.isGroup = chooser(groups);
  }

  /**
   * Changes with the file and with the mapping. If it is unchanged, the file need not be read.
   * @throws SourceError when the file does not exist or cannot be read
   */
  async fingerprint(): Promise<string> {
    const { ino, size, mtimeMs } = await this.stat();
    return `${ino}-${size}-${mtimeMs}-${this.fingerprintOfConfig}`;
  }

  /**
   * Yields the people and groups in the order of the file.
   * @throws LdifError when the file is malformed; SourceError when it cannot be read or changes during the
   *   read
   */
  async *read(): AsyncGenerator<SourceEntry> {
    const before = await this.fingerprint();
    for await (const entry of readLdif(this.chunks())) {
      const found = this.choose(entry);
      if (found !== null) yield found;
    }
    await this.requireUnchanged(before);
  }

  /**
   * Yields the records of the file in their order, including those that are neither people nor groups.
   * @throws IrregularRecordsError for a second record of a DN, and as recordsOf; SourceError as `read`
   */
  async *readRecords(): AsyncGenerator<SourceRecord[]> {
    const before = await this.fingerprint();
    const seen = new Set<string>();
    const file = await this.open();
    try {
      for await (const records of recordsOf(file))
        yield records.map((record) => this.recordOf(record, seen)).filter((record) => record !== null);
    } finally {
      await file.close();
    }
    await this.requireUnchanged(before);
  }

  get path(): string {
    return this.source.file;
  }

  /** Null for an entry that is neither a user nor a group. */
  kindOf(entry: Entry): EntryKind | null {
    if (this.isPerson(entry)) return 'person';
    return this.isGroup(entry) ? 'group' : null;
  }

  mappingOf(kind: EntryKind): EntryMapping {
    const { users, groups } = this.config.mapping;
    return kind === 'person' ? users : groups;
  }

  /** Null, because a file has no numbers of changes. */
  position(): null {
    return null;
  }

  /** Null: only comments, or the version. */
  private recordOf(record: RecordBytes, seen: Set<string>): SourceRecord | null {
    const { bytes, start } = record;
    refuseBeginning(bytes, start);
    const dn = dnOfRecord(bytes) ?? parseRecord(record)?.dn;
    if (dn === undefined) return null;
    const dnKey = keyOfDn(dn);
    // The key itself is many small strings until it is written somewhere, which take six times as much memory.
    const compact = Buffer.from(dnKey).toString('latin1');
    if (seen.has(compact)) throw new IrregularRecordsError();
    seen.add(compact);
    const parse = () => {
      const entry = parseRecord(record);
      return entry === null ? null : this.choose(entry);
    };
    // The first record may have a version, with which the same bytes are an error in another place.
    return { kind: null, dnKey, digest: start === 0 ? null : digestOfBytes(bytes), parse };
  }

  private choose(entry: Entry): SourceEntry | null {
    const kind = this.kindOf(entry);
    return kind === null ? null : { kind, entry };
  }

  private async requireUnchanged(before: string): Promise<void> {
    if ((await this.fingerprint()) !== before) throw new SourceError('The file changed while it was read');
  }

  private async open(): Promise<FileHandle> {
    try {
      return await open(this.source.file);
    } catch (error) {
      throw new SourceError('The directory file cannot be read', { cause: error });
    }
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    try {
      yield* createReadStream(this.source.file, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>;
    } catch (error) {
      throw new SourceError('The directory file cannot be read', { cause: error });
    }
  }

  private async stat() {
    try {
      return await stat(this.source.file);
    } catch (error) {
      throw new SourceError('The directory file does not exist, or cannot be read', { cause: error });
    }
  }
}

function chooser({ bases, filter }: EntryMapping): (entry: Entry) => boolean {
  const matches = compileFilter(filter);
  return (entry) => matches(entry) && bases.some((base) => isBelow(entry.dn, base));
}
