import { InvalidDnError, normaliseDn } from '../naming/dn.js';
import { attributeKey, decodeUtf8, Entry } from '../entry.js';
import { LdifError } from './ldif-error.js';
import { LdifLines, type LogicalLine } from './ldif-lines.js';
import { parseAttributeValue } from './ldif-value.js';

export interface LdifOptions {
  /**
   * Size of the largest accepted line after unfolding, in bytes; a photo in base64 is one line. Default: 32
   * MiB.
   */
  readonly maximumLineBytes?: number;
}

const DEFAULT_MAXIMUM_LINE_BYTES = 32 * 1024 * 1024;
const HASH = 0x23;
const DESCRIPTION = /^(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)(?:;[A-Za-z0-9-]+)*$/;
/**
 * Bound on cached descriptions. A file normally has a few dozen; the bound protects against one that has a
 * new description on every line.
 */
const MAXIMUM_KNOWN_DESCRIPTIONS = 1000;

/**
 * Reads an LDIF content file (RFC 2849) entry by entry. Memory use is one entry, plus about a hundred bytes
 * for each DN, because a duplicate DN is an error.
 *
 * Beyond the grammar, the reader accepts a byte order mark, several blank lines, UTF-8 outside base64, and a
 * record that has only a DN. Records without a DN are rejected, including the trailer that `ldapsearch`
 * writes without `-LLL`: it may state that the search was truncated, and the omitted entries would appear
 * deleted.
 *
 * @throws {LdifError} at the first error; the entries before it have already been yielded
 */
export async function* readLdif(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  options: LdifOptions = {},
): AsyncGenerator<Entry, void, undefined> {
  const lines = new LdifLines(options.maximumLineBytes ?? DEFAULT_MAXIMUM_LINE_BYTES);
  const records = new LdifRecords();
  for await (const chunk of chunks) {
    for (const line of lines.push(chunk)) {
      const entry = records.push(line);
      if (entry !== null) {
        yield entry;
      }
    }
  }
  for (const line of lines.end()) {
    const entry = records.push(line);
    if (entry !== null) {
      yield entry;
    }
  }
  const last = records.end();
  if (last !== null) {
    yield last;
  }
}

/** Assembles lines into entries. */
class LdifRecords {
  private dn: string | null = null;
  private attributes = new Map<string, Buffer[]>();
  private isBeginning = true;
  private readonly seen = new Set<string>();
  private readonly knownDescriptions = new Map<string, string>();

  /** The entry that this line completes; null when it completes none. */
  push(line: LogicalLine): Entry | null {
    if (line.length === 0) {
      return this.end();
    }
    if (line.bytes[0] === HASH) {
      return null;
    }
    const { description, value } = parseAttributeValue(line);
    const key = this.keyOf(description, line.number);
    if (this.dn !== null) {
      this.addValue(key, value, line.number);
    } else if (key === 'version' && this.isBeginning) {
      checkVersion(value, line.number);
    } else {
      this.dn = this.beginRecord(key, value, line.number);
    }
    this.isBeginning = false;
    return null;
  }

  /** The entry that the end of the record completes; null when no record is open. */
  end(): Entry | null {
    if (this.dn === null) {
      return null;
    }
    const entry = new Entry(this.dn, this.attributes);
    this.dn = null;
    this.attributes = new Map();
    return entry;
  }

  private keyOf(description: string, line: number): string {
    const known = this.knownDescriptions.get(description);
    if (known !== undefined) {
      return known;
    }
    if (!DESCRIPTION.test(description)) {
      throw new LdifError(line, 'an invalid attribute description');
    }
    const key = attributeKey(description);
    if (this.knownDescriptions.size < MAXIMUM_KNOWN_DESCRIPTIONS) {
      this.knownDescriptions.set(description, key);
    }
    return key;
  }

  private addValue(key: string, value: Buffer, line: number): void {
    const values = this.attributes.get(key);
    if (values !== undefined) {
      values.push(value);
      return;
    }
    if (key === 'dn') {
      throw new LdifError(line, 'a second dn in one record; a blank line separates records');
    }
    if (key === 'changetype' || key === 'control') {
      throw new LdifError(line, 'a change record; only content files can be read');
    }
    this.attributes.set(key, [value]);
  }

  /** Validates the first line of a record and returns its DN as written. */
  private beginRecord(key: string, value: Buffer, line: number): string {
    if (key === 'version') {
      throw new LdifError(line, 'the version stands only at the beginning of a file');
    }
    if (key !== 'dn') {
      throw new LdifError(line, 'a record that does not begin with dn (ldapsearch writes LDIF with -LLL)');
    }
    const dn = decodeUtf8(value);
    if (dn === null) {
      throw new LdifError(line, 'a dn that is not UTF-8');
    }
    const normalised = normaliseDnAt(dn, line);
    if (this.seen.has(normalised)) {
      throw new LdifError(line, 'a dn that stands in the file already');
    }
    this.seen.add(normalised);
    return dn;
  }
}

function checkVersion(value: Buffer, line: number): void {
  if (value.toString('latin1') !== '1') {
    throw new LdifError(line, 'a version other than 1');
  }
}

function normaliseDnAt(dn: string, line: number): string {
  try {
    return normaliseDn(dn);
  } catch (error) {
    if (error instanceof InvalidDnError) {
      throw new LdifError(line, error.message, { cause: error });
    }
    throw error;
  }
}
