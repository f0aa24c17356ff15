import { formatUuid } from '../../ldap/naming/entry-uuid.js';
import { type EntryKind, KINDS } from '../source.js';

export interface IndexedRecord {
  /** Null: neither a user nor a group. */
  readonly kind: EntryKind | null;
  /** Null without a kind. */
  readonly uuid: string | null;
  /** See keyOfDn. */
  readonly dnKey: string;
  /** Bytes from the beginning of the file. */
  readonly start: number;
  readonly length: number;
}

interface Column {
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a row: a SHA-256, two UUIDs, and three numbers. */
const DIGEST: Column = { offset: 0, length: 32 };
const DN_KEY: Column = { offset: 32, length: 16 };
const UUID: Column = { offset: 48, length: 16 };
const START = 64;
const LENGTH = 72;
const KIND = 76;
const ROW = 80;
/** A table of chunks grows without a copy. */
const ROWS_OF_CHUNK = 1 << 14;
const FIRST_SLOTS = 1 << 12;

/** Numbers of kinds: those of KINDS, and these. */
const OTHER = 2;
const COMMENTS = 3;

/**
 * The records of a file, each in about 100 bytes, outside of the heap of JavaScript: as objects in maps they take three times as
 * much, and a large heap makes each garbage collection longer.
 */
export class RecordTable {
  private count = 0;
  private readonly chunks: Buffer[] = [];
  private readonly byDigest = new KeyIndex(this.chunks, DIGEST);
  private readonly byDnKey = new KeyIndex(this.chunks, DN_KEY);
  private readonly byUuid = new KeyIndex(this.chunks, UUID);

  get size(): number {
    return this.count;
  }

  /** Returns the number of a row. */
  find(digest: Buffer): number | null {
    return this.byDigest.find(digest);
  }

  /** Returns the number of the row of a user or group. */
  findUuid(uuid: string): number | null {
    return this.byUuid.find(bytesOf(uuid));
  }

  digestOf(row: number): Buffer {
    return this.bytes(row).subarray(DIGEST.offset, DIGEST.offset + DIGEST.length);
  }

  /** Null: only comments. */
  get(row: number): IndexedRecord | null {
    const bytes = this.bytes(row);
    const number = bytes.readUInt8(KIND);
    if (number === COMMENTS) return null;
    return {
      kind: KINDS[number] ?? null,
      uuid: number === OTHER ? null : uuidAt(bytes, UUID),
      dnKey: uuidAt(bytes, DN_KEY),
      start: bytes.readDoubleLE(START),
      length: bytes.readUInt32LE(LENGTH),
    };
  }

  /**
   * @param record null: only comments
   * @returns false if another record has the same bytes, DN or UUID
   */
  add(digest: Buffer, record: IndexedRecord | null): boolean {
    const bytes = this.append();
    digest.copy(bytes, DIGEST.offset);
    bytes.writeUInt8(numberOf(record), KIND);
    if (record !== null) {
      bytesOf(record.dnKey).copy(bytes, DN_KEY.offset);
      if (record.uuid !== null) bytesOf(record.uuid).copy(bytes, UUID.offset);
      bytes.writeDoubleLE(record.start, START);
      bytes.writeUInt32LE(record.length, LENGTH);
    }
    return this.addKeys(this.count - 1);
  }

  /**
   * Adds a record of another table, whose place in the file may differ.
   * @returns as add
   */
  copy(other: RecordTable, row: number, start: number): boolean {
    const bytes = this.append();
    other.bytes(row).copy(bytes);
    bytes.writeDoubleLE(start, START);
    return this.addKeys(this.count - 1);
  }

  private addKeys(row: number): boolean {
    const number = this.bytes(row).readUInt8(KIND);
    const isNew = this.byDigest.add(row);
    if (number === COMMENTS) return true;
    return isNew && this.byDnKey.add(row) && (number === OTHER || this.byUuid.add(row));
  }

  private append(): Buffer {
    const row = this.count++;
    if (row % ROWS_OF_CHUNK === 0) this.chunks.push(Buffer.alloc(ROWS_OF_CHUNK * ROW));
    return this.bytes(row);
  }

  private bytes(row: number): Buffer {
    const offset = (row % ROWS_OF_CHUNK) * ROW;
    return chunkOf(this.chunks, row).subarray(offset, offset + ROW);
  }
}

/** Finds rows by the bytes of a column: a hash table with open addressing. */
class KeyIndex {
  /** Numbers of rows plus one. Zero: free. */
  private slots = new Int32Array(FIRST_SLOTS);
  private count = 0;

  constructor(
    private readonly chunks: readonly Buffer[],
    private readonly column: Column,
  ) {}

  find(key: Buffer): number | null {
    if (key.length !== this.column.length) return null;
    const row = this.slots[this.slotOf(key, 0)] ?? 0;
    return row === 0 ? null : row - 1;
  }

  /** @returns false if another row has the same bytes */
  add(row: number): boolean {
    if (this.count * 4 >= this.slots.length * 3) this.grow();
    const slot = this.slotOf(chunkOf(this.chunks, row), this.offsetOf(row));
    if (this.slots[slot] !== 0) return false;
    this.slots[slot] = row + 1;
    this.count++;
    return true;
  }

  private grow(): void {
    const rows = this.slots;
    this.slots = new Int32Array(rows.length * 2);
    for (const row of rows) {
      if (row === 0) continue;
      this.slots[this.slotOf(chunkOf(this.chunks, row - 1), this.offsetOf(row - 1))] = row;
    }
  }

  /** The slot of the row with a key, or the free one where it belongs. */
  private slotOf(bytes: Buffer, offset: number): number {
    const { length } = this.column;
    const last = this.slots.length - 1;
    for (let slot = hashOf(bytes, offset, length) & last; ; slot = (slot + 1) & last) {
      const row = this.slots[slot] ?? 0;
      if (row === 0) return slot;
      const other = this.offsetOf(row - 1);
      const chunk = chunkOf(this.chunks, row - 1);
      if (chunk.compare(bytes, offset, offset + length, other, other + length) === 0) return slot;
    }
  }

  private offsetOf(row: number): number {
    return (row % ROWS_OF_CHUNK) * ROW + this.column.offset;
  }
}

function chunkOf(chunks: readonly Buffer[], row: number): Buffer {
  const chunk = chunks[Math.floor(row / ROWS_OF_CHUNK)];
  if (chunk === undefined) throw new RangeError('There is no such row');
  return chunk;
}

/** FNV-1a of four bytes at a time, with the last step of MurmurHash3: UUIDs may differ in a few bits only. */
function hashOf(bytes: Buffer, offset: number, length: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < length; index += 4)
    hash = Math.imul(hash ^ bytes.readInt32BE(offset + index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

function numberOf(record: IndexedRecord | null): number {
  if (record === null) return COMMENTS;
  return record.kind === null ? OTHER : KINDS.indexOf(record.kind);
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function uuidAt(bytes: Buffer, { offset, length }: Column): string {
  return formatUuid(bytes.toString('hex', offset, offset + length));
}
