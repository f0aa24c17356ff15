import { copyBytes } from '../client/copy-bytes.js';
import { LdifError } from './ldif-error.js';

/** A line with its continuations joined. The bytes are only good until the next line is asked for. */
export interface LogicalLine {
  /** Holds the line from its beginning, and what is left of longer lines after it: a view of each would cost time. */
  readonly bytes: Buffer;
  readonly length: number;
  /** Where the first physical line of it stands, counted from 1. */
  readonly number: number;
}

const NUL = 0x00;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const INITIAL_CAPACITY = 4096;

/**
 * Joins chunks of a file into lines and unfolds them (RFC 2849, notes 2 and 3). Everything happens on bytes, so
 * that neither a chunk nor a fold can split a character. Memory is one line, whatever the size of the file.
 *
 * Chunks are copied into one growing buffer: a view of each would be quicker for short lines, but a photo is
 * folded into ten thousand lines, and as many views weigh more than the photo.
 */
export class LdifLines {
  private buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  private length = 0;
  /** Where in the buffer the current physical line begins. */
  private physicalStart = 0;
  private physicalNumber = 0;
  private number = 0;
  private atLineStart = true;

  /** @param maximumBytes largest line, unfolded */
  constructor(private readonly maximumBytes: number) {}

  /**
   * The lines that are complete once this chunk is known.
   *
   * @throws {LdifError} for a line that is too long, continues nothing, or has a NUL or a stray carriage return
   */
  *push(chunk: Buffer): Generator<LogicalLine> {
    let start = 0;
    while (start < chunk.length) {
      if (this.atLineStart) {
        this.physicalNumber += 1;
        this.atLineStart = false;
        if (chunk[start] === SPACE) {
          this.continueLine();
          start += 1;
        } else {
          if (this.number > 0) {
            yield this.current();
          }
          this.beginLine();
        }
      }
      const lineFeed = chunk.indexOf(LINE_FEED, start);
      this.append(chunk, start, lineFeed === -1 ? chunk.length : lineFeed);
      if (lineFeed === -1) {
        return;
      }
      this.endPhysicalLine();
      start = lineFeed + 1;
    }
  }

  /** The last line, which need not end in a line feed. */
  *end(): Generator<LogicalLine> {
    if (!this.atLineStart) {
      this.endPhysicalLine();
    }
    if (this.number > 0) {
      yield this.current();
    }
  }

  private current(): LogicalLine {
    return { bytes: this.buffer, length: this.length, number: this.number };
  }

  private beginLine(): void {
    this.length = 0;
    this.physicalStart = 0;
    this.number = this.physicalNumber;
  }

  private continueLine(): void {
    if (this.length === 0) {
      throw new LdifError(this.physicalNumber, 'a continuation of nothing');
    }
    this.physicalStart = this.length;
  }

  private append(chunk: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.maximumBytes) {
      throw new LdifError(this.number, `longer than ${this.maximumBytes} bytes`);
    }
    if (length > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
    copyBytes(chunk, start, end, this.buffer, this.length);
    this.length = length;
  }

  private endPhysicalLine(): void {
    this.atLineStart = true;
    if (this.length > this.physicalStart && this.buffer[this.length - 1] === CARRIAGE_RETURN) {
      this.length -= 1;
    }
    for (let index = this.physicalStart; index < this.length; index += 1) {
      const byte = this.buffer[index];
      if (byte === NUL || byte === CARRIAGE_RETURN) {
        const name = byte === NUL ? 'a NUL' : 'a carriage return';
        throw new LdifError(
          this.physicalNumber,
          `${name} inside the line; such a value is written in base64`,
        );
      }
    }
    if (this.physicalNumber === 1 && this.buffer.subarray(0, this.length).indexOf(BYTE_ORDER_MARK) === 0) {
      this.buffer.copyWithin(0, BYTE_ORDER_MARK.length, this.length);
      this.length -= BYTE_ORDER_MARK.length;
    }
  }
}
