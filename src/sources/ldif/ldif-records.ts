import type { FileHandle } from 'node:fs/promises';
import { decodeUtf8, type Entry } from '../../ldap/entry.js';
import { parseLdif } from '../../ldap/ldif/ldif.js';
import { SourceError } from '../source.error.js';

const CHUNK = 1 << 18;
/** The largest record in bytes. A file with other line ends than a line feed is one large record. */
const LARGEST_RECORD = 8_000_000;

/** The records of a file cannot be read one by one, or do not have different bytes and DNs, so that it has to be read completely. */
export class IrregularRecordsError extends Error {}

export interface RecordBytes {
  readonly bytes: Buffer;
  /** Bytes from the beginning of the file. */
  readonly start: number;
}

/** Splits a file at empty lines. Yields the records of each chunk together, because a promise for each takes longer than its hash. */
export async function* recordsOf(file: FileHandle): AsyncGenerator<RecordBytes[]> {
  let rest = Buffer.alloc(0);
  let start = 0;
  for await (const chunk of chunksOf(file)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = afterLineFeeds(bytes, 0);
    const records: RecordBytes[] = [];
    for (let end = bytes.indexOf('\n\n', from); end >= 0; end = bytes.indexOf('\n\n', from)) {
      records.push({ bytes: bytes.subarray(from, end + 1), start: start + from });
      from = afterLineFeeds(bytes, end + 2);
    }
    yield records;
    start += from;
    rest = Buffer.from(bytes.subarray(from));
    if (rest.length > LARGEST_RECORD) throw new IrregularRecordsError();
  }
  if (rest.length > 0) yield [{ bytes: rest, start }];
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  try {
    yield* file.createReadStream({
      start: 0,
      autoClose: false,
      highWaterMark: CHUNK,
    }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new SourceError('The directory file cannot be read', { cause: error });
  }
}

function afterLineFeeds(bytes: Buffer, from: number): number {
  let position = from;
  while (bytes[position] === 0x0a) position++;
  return position;
}

/** A version and a byte order mark belong to the beginning of a file, which a single record does not show. */
export function refuseBeginning(bytes: Buffer, start: number): void {
  if (start === 0) return;
  if (/^\s*(?:version:|\xef\xbb\xbf)/i.test(bytes.toString('latin1', 0, 20)))
    throw new IrregularRecordsError();
}

/**
 * Returns the entry of a record; null for comments only.
 * @throws LdifError; IrregularRecordsError for more than one entry
 */
export function parseRecord({ bytes, start }: RecordBytes): Entry | null {
  const [entry, second] = parseLdif(bytes, start === 0);
  if (second !== undefined) throw new IrregularRecordsError();
  return entry ?? null;
}

/** Matches the first line of most records, and a second one that does not continue it (RFC 2849, note 2). */
const FIRST_LINE = /^dn: +([^\r\n\0]+)\n[^ ]/;
/** More bytes than most DNs have. */
const FIRST_BYTES = 1024;

/** Returns the DN of a record without parsing the rest; null if that is not possible. */
export function dnOfRecord(bytes: Buffer): string | null {
  const [, dn] = FIRST_LINE.exec(bytes.toString('latin1', 0, FIRST_BYTES)) ?? [];
  return dn === undefined ? null : decodeUtf8(Buffer.from(dn, 'latin1'));
}
