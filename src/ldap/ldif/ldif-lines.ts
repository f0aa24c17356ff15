import { copyBytes } from '../client/copy-bytes.js';
import { LdifError } from './ldif-error.js';

/** A line with its continuations joined. The bytes are valid only until the next line is requested. */
export interface LogicalLine {
  /**
   * The line, from offset 0. Bytes beyond `length` are remains of longer lines: creating a view for each line
   * would cost time.
   */
  readonly bytes: Buffer;
  readonly length: number;
  /** Number of the first physical line, counted from 1. */
  readonly number: number;
}

const NUL = 0x00;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const INITIAL_CAPACITY = 4096;

/**
 * Joins chunks of a file into lines and unfolds them (RFC 2849, notes 2 and 3). The class works on bytes, so
 * that neither a chunk boundary nor a fold can split a character. Memory use is one line, independent of the
 * size of the file.
 *
 * Chunks are copied into one growing buffer. A view of each piece would be faster for short lines, but a
 * photo is folded into ten thousand lines, and as many views take more memory than the photo.
 */
export class LdifLines {
  private buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  private length = 0;
  /** Offset in the buffer at which the current physical line begins. */
  private physicalStart = 0;
  private physicalNumber = 0;
  private number = 0;
  private atLineStart = true;

  /** @param maximumBytes size of the largest accepted line after unfolding, in bytes */
  constructor(private readonly maximumBytes: number) {}

  /**
   * Yields the lines that this chunk completes.
   *
   * @throws {LdifError} for a line that is too long, for a continuation without a line before it, and for a
   *   NUL or a carriage return inside a line
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

  /** Yields the last line, which need not end in a line feed. */
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
