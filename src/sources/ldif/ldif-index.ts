import { hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Entry } from '../../ldap/entry.js';
import { parseLdif } from '../../ldap/ldif/ldif.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { uuidOfEntry } from '../../ldap/naming/entry-uuid.js';
import { DeltaBuilder } from '../delta.js';
import type { KnownEntry } from '../ldap/listed-entries.js';
import type { EntryKind } from '../source.js';
import { SourceError } from '../source.error.js';
import { IrregularRecordsError, parseRecord, recordsOf, refuseBeginning } from './ldif-records.js';
import type { LdifSource } from './ldif-source.js';
import { type IndexedRecord, RecordTable } from './record-table.js';

/** The number of records that are kept, each in about 100 bytes, and twice while a file is read. A larger file is read completely. */
const MOST_RECORDS = 1_200_000;
/** The number of changed records beyond which the file is read completely. */
const MOST_CHANGES = 1000;
/** The bytes of changed records beyond which the file is read completely, which needs no memory for each: 200,000 members. */
const MOST_CHANGED_BYTES = 16_000_000;

/** A user or group that no earlier state of the file has. */
interface FoundEntry {
  readonly kind: EntryKind;
  readonly uuid: string;
  readonly entry: Entry;
}

/** The difference between two states of a file. */
export interface FileChanges {
  readonly delta: DeltaBuilder;
  /** The index of the later state. */
  readonly index: LdifIndex;
  /** Reads entries of the later state. Those that do not exist are omitted. Throws SourceError if the file has changed since. */
  readonly readAgain: (uuids: readonly string[]) => Promise<KnownEntry[]>;
  /** Call it at the end. */
  readonly close: () => Promise<void>;
}

/**
 * The records of an LDIF file by the hashes of their bytes, so that only changed ones are parsed when the file changes. It finds
 * no errors in records that did not change, because they were read before.
 */
export class LdifIndex {
  private readonly records: RecordTable;

  private constructor(
    private readonly source: LdifSource,
    readonly fingerprint: string,
    expected = 0,
  ) {
    this.records = new RecordTable(expected);
  }

  /** Returns null for a file that cannot be indexed. Throws SourceError and LdifError. */
  static async read(source: LdifSource, signal: AbortSignal): Promise<LdifIndex | null> {
    const changes = await new LdifIndex(source, '').readChanges(signal, Infinity);
    await changes?.close();
    return changes?.index ?? null;
  }

  /**
   * Compares the file with this index.
   * @returns null if the file has to be read completely
   * @throws SourceError when the file cannot be read or changes meanwhile; LdifError for a malformed record
   */
  async readChanges(signal: AbortSignal, most = MOST_CHANGES): Promise<FileChanges | null> {
    const index = new LdifIndex(this.source, await this.source.fingerprint(), this.records.size);
    const file = await open(this.source.path);
    try {
      const delta = await this.compare(index, file, { signal, most });
      if ((await this.source.fingerprint()) !== index.fingerprint)
        throw new SourceError('The file changed while it was read');
      const readAgain = (uuids: readonly string[]) => index.readAgain(file, uuids);
      return { delta, index, readAgain, close: () => file.close() };
    } catch (error) {
      await file.close();
      if (error instanceof IrregularRecordsError) return null;
      throw error;
    }
  }

  private async compare(
    index: LdifIndex,
    file: FileHandle,
    { signal, most }: { readonly signal: AbortSignal; readonly most: number },
  ): Promise<DeltaBuilder> {
    const found: FoundEntry[] = [];
    const countChange = changeCounter(most);
    for await (const records of recordsOf(file)) {
      signal.throwIfAborted();
      for (const { bytes, start } of records) {
        refuseBeginning(bytes, start);
        const digest = digestOf(bytes, start);
        const known = this.records.find(digest);
        if (known !== null) {
          index.require(index.records.copy(this.records, known, start));
          continue;
        }
        countChange(bytes.length);
        const parsed = this.parse(bytes, start);
        index.require(index.records.add(digest, parsed?.record ?? null));
        // If all records are new, their entries would take all memory.
        if (parsed?.found !== undefined && most !== Infinity) found.push(parsed.found);
      }
    }
    const delta = new DeltaBuilder();
    // Earlier records of changed entries are gone, too.
    this.removeGone(index, delta, most + found.length);
    for (const { kind, uuid, entry } of found) delta.put(kind, uuid, entry);
    return delta;
  }

  /**
   * Another record with the same bytes, DN or UUID is an error or a conflict, which the complete file shows.
   * @throws IrregularRecordsError if a record is not distinct, or there are too many
   */
  private require(isDistinct: boolean): void {
    if (!isDistinct || this.records.size > MOST_RECORDS) throw new IrregularRecordsError();
  }

  /** Adds the users and groups that a later state of the file lacks. */
  private removeGone(later: LdifIndex, delta: DeltaBuilder, most: number): void {
    for (let row = 0, gone = 0; row < this.records.size; row++) {
      if (later.records.has(this.records, row)) continue;
      const record = this.records.get(row);
      if (record === null || record.kind === null || record.uuid === null) continue;
      if (++gone > most) throw new IrregularRecordsError();
      delta.remove(record.kind, record.uuid);
    }
  }

  /** Null: only comments. */
  private parse(
    bytes: Buffer,
    start: number,
  ): { readonly record: IndexedRecord; readonly found?: FoundEntry } | null {
    const entry = parseRecord({ bytes, start });
    if (entry === null) return null;
    const kind = this.source.kindOf(entry);
    const place = { dnKey: keyOfDn(entry.dn), start, length: bytes.length };
    if (kind === null) return { record: { kind, uuid: null, ...place } };
    const uuid = uuidOfEntry(entry, this.source.mappingOf(kind).uuid);
    if (uuid === null) throw new IrregularRecordsError();
    return { record: { kind, uuid, ...place }, found: { kind, uuid, entry } };
  }

  private async readAgain(file: FileHandle, uuids: readonly string[]): Promise<KnownEntry[]> {
    const found: KnownEntry[] = [];
    for (const uuid of uuids) {
      const row = this.records.findUuid(uuid);
      const { kind = null, start = 0, length = 0 } = (row === null ? null : this.records.get(row)) ?? {};
      if (row === null || kind === null) continue;
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, start);
      // It may be overwritten at any time, also with something that is no record.
      if (!digestOf(buffer, start).equals(this.records.digestOf(row)))
        throw new SourceError('The file changed while it was read');
      for (const entry of parseLdif(buffer, start === 0)) found.push({ kind, uuid, entry });
    }
    return found;
  }
}

/** Returns a function that counts changed records by their sizes. It throws IrregularRecordsError if they are too many or too large. */
function changeCounter(most: number): (size: number) => void {
  let changes = 0;
  let bytes = 0;
  return (size) => {
    bytes += size;
    const isLarge = bytes > MOST_CHANGED_BYTES && most !== Infinity;
    if (++changes > most || isLarge) throw new IrregularRecordsError();
  };
}

/** The first record may have a version, with which the same bytes are an error in another place. So it has another digest. */
function digestOf(bytes: Buffer, start: number): Buffer {
  return hash('sha256', start === 0 ? Buffer.concat([FIRST, bytes]) : bytes, 'buffer');
}

const FIRST = Buffer.from('first\0');
