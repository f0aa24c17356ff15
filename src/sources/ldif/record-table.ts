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

/** Places in a row, in numbers of 32 bits: a SHA-256, two UUIDs, and four numbers. */
const DIGEST: Column = { offset: 0, length: 8 };
const DN_KEY: Column = { offset: 8, length: 4 };
const UUID: Column = { offset: 12, length: 4 };
const START_HIGH = 16;
const START_LOW = 17;
const LENGTH = 18;
const KIND = 19;
const ROW = 20;
/** A table of chunks grows without a copy. */
const CHUNK_BITS = 14;
const ROWS_OF_CHUNK = 1 << CHUNK_BITS;
const FEWEST_SLOTS = 1 << 12;

/** Numbers of kinds: the indexes of KINDS, and these. */
const OTHER = KINDS.length;
const COMMENTS = OTHER + 1;

interface Column {
  readonly offset: number;
  readonly length: number;
}

/**
 * The records of a file, each in about 100 bytes, outside of the heap of JavaScript: as objects in maps they take three times as
 * much, and a large heap makes each garbage collection longer.
 */
export class RecordTable {
  private count = 0;
  private readonly chunks: Int32Array[] = [];
  private readonly byDigest: KeyIndex;
  private readonly byDnKey: KeyIndex;
  private readonly byUuid: KeyIndex;
  /** A row that is searched for, or that is added. */
  private readonly row = new Int32Array(ROW);
  private readonly rowBytes = Buffer.from(this.row.buffer);

  /** @param expected number of rows */
  constructor(expected = 0) {
    this.byDigest = new KeyIndex(this.chunks, DIGEST, expected);
    this.byDnKey = new KeyIndex(this.chunks, DN_KEY, expected);
    this.byUuid = new KeyIndex(this.chunks, UUID, expected);
  }

  get size(): number {
    return this.count;
  }

  /** Returns the number of a row. */
  find(digest: Buffer): number | null {
    digest.copy(this.rowBytes, DIGEST.offset * 4);
    return this.byDigest.find(this.row, 0);
  }

  /** Whether this table has a record with the same bytes as one of another table. */
  has(other: RecordTable, row: number): boolean {
    return this.byDigest.find(chunkOf(other.chunks, row), placeOf(row)) !== null;
  }

  /** Returns the number of the row of a user or group. */
  findUuid(uuid: string): number | null {
    const bytes = bytesOf(uuid);
    if (bytes.length !== UUID.length * 4) return null;
    bytes.copy(this.rowBytes, UUID.offset * 4);
    return this.byUuid.find(this.row, 0);
  }

  digestOf(row: number): Buffer {
    return this.bytes(row, DIGEST);
  }

  /** Null: only comments. */
  get(row: number): IndexedRecord | null {
    const place = placeOf(row);
    const chunk = chunkOf(this.chunks, row);
    const numberAt = (offset: number) => chunk[place + offset] ?? 0;
    const kind = numberAt(KIND);
    if (kind === COMMENTS) return null;
    return {
      kind: KINDS[kind] ?? null,
      uuid: kind === OTHER ? null : formatUuid(this.bytes(row, UUID).toString('hex')),
      dnKey: formatUuid(this.bytes(row, DN_KEY).toString('hex')),
      start: numberAt(START_HIGH) * 2 ** 32 + (numberAt(START_LOW) >>> 0),
      length: numberAt(LENGTH),
    };
  }

  /**
   * @param record null: only comments
   * @returns false if another record has the same bytes, DN or UUID
   */
  add(digest: Buffer, record: IndexedRecord | null): boolean {
    const { row, rowBytes } = this;
    row.fill(0);
    digest.copy(rowBytes, DIGEST.offset * 4);
    row[KIND] = numberOf(record);
    if (record !== null) {
      bytesOf(record.dnKey).copy(rowBytes, DN_KEY.offset * 4);
      if (record.uuid !== null) bytesOf(record.uuid).copy(rowBytes, UUID.offset * 4);
      row[LENGTH] = record.length;
    }
    return this.append(row, 0, record?.start ?? 0);
  }

  /**
   * Adds a record of another table, whose place in the file may differ.
   * @returns as add
   */
  copy(other: RecordTable, row: number, start: number): boolean {
    return this.append(chunkOf(other.chunks, row), placeOf(row), start);
  }

  private append(from: Int32Array, offset: number, start: number): boolean {
    const row = this.count++;
    if (row % ROWS_OF_CHUNK === 0) this.chunks.push(new Int32Array(ROWS_OF_CHUNK * ROW));
    const chunk = chunkOf(this.chunks, row);
    const place = placeOf(row);
    for (let index = 0; index < ROW; index++) chunk[place + index] = from[offset + index] ?? 0;
    // A file can be larger than a number of 32 bits.
    chunk[place + START_HIGH] = Math.floor(start / 2 ** 32);
    chunk[place + START_LOW] = start | 0;
    const kind = chunk[place + KIND];
    const isNew = this.byDigest.add(row);
    if (kind === COMMENTS) return true;
    return isNew && this.byDnKey.add(row) && (kind === OTHER || this.byUuid.add(row));
  }

  private bytes(row: number, { offset, length }: Column): Buffer {
    return Buffer.from(chunkOf(this.chunks, row).buffer, (placeOf(row) + offset) * 4, length * 4);
  }
}

/** Finds rows by the numbers of a column: a hash table with open addressing. */
class KeyIndex {
  /** Numbers of rows plus one. Zero: free. */
  private slots: Int32Array;
  private count = 0;

  constructor(
    private readonly chunks: readonly Int32Array[],
    private readonly column: Column,
    expected: number,
  ) {
    let slots = FEWEST_SLOTS;
    while (isCrowded(expected, slots)) slots *= 2;
    this.slots = new Int32Array(slots);
  }

  /** @param row has the key. It begins at `place` */
  find(row: Int32Array, place: number): number | null {
    const found = this.slots[this.slotOf(row, place)] ?? 0;
    return found === 0 ? null : found - 1;
  }

  /** @returns false if another row has the same key */
  add(row: number): boolean {
    if (isCrowded(this.count, this.slots.length)) this.grow();
    const slot = this.slotOf(chunkOf(this.chunks, row), placeOf(row));
    if (this.slots[slot] !== 0) return false;
    this.slots[slot] = row + 1;
    this.count++;
    return true;
  }

  private grow(): void {
    const rows = this.slots;
    this.slots = new Int32Array(rows.length * 2);
    for (const row of rows)
      if (row !== 0) this.slots[this.slotOf(chunkOf(this.chunks, row - 1), placeOf(row - 1))] = row;
  }

  /** The slot of the row with a key, or the free one where it belongs. */
  private slotOf(row: Int32Array, place: number): number {
    const { offset, length } = this.column;
    const last = this.slots.length - 1;
    for (let slot = hashOf(row, place + offset) & last; ; slot = (slot + 1) & last) {
      const found = this.slots[slot] ?? 0;
      if (found === 0) return slot;
      const other = chunkOf(this.chunks, found - 1);
      const from = placeOf(found - 1) + offset;
      let index = 0;
      while (index < length && other[from + index] === row[place + offset + index]) index++;
      if (index === length) return slot;
    }
  }
}

/** Whether more than three of four slots are taken. */
function isCrowded(count: number, slots: number): boolean {
  return count * 4 >= slots * 3;
}

function chunkOf(chunks: readonly Int32Array[], row: number): Int32Array {
  const chunk = chunks[row >> CHUNK_BITS];
  if (chunk === undefined) throw new RangeError('There is no such row');
  return chunk;
}

/** The first number of a row in its chunk. */
function placeOf(row: number): number {
  return (row & (ROWS_OF_CHUNK - 1)) * ROW;
}

/** Mixes the first four numbers of a key, as MurmurHash3 does: UUIDs may differ in a few bits only. */
function hashOf(row: Int32Array, from: number): number {
  let hash = 0;
  for (let index = 0; index < UUID.length; index++) {
    hash = Math.imul(hash ^ (row[from + index] ?? 0), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  return hash;
}

function numberOf(record: IndexedRecord | null): number {
  if (record === null) return COMMENTS;
  return record.kind === null ? OTHER : KINDS.indexOf(record.kind);
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
