import { LdifError } from './ldif-error.js';

export interface LogicalLine {
  /** One character for each byte (latin1). */
  readonly text: string;
  /** Number of the first physical line, counted from 1. */
  readonly number: number;
}

const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/**
 * Joins chunks of a file into lines and unfolds them (RFC 2849, notes 2 and 3). The class works on bytes, so
 * that neither a chunk boundary nor a fold can split a character. Memory use is one line and one chunk.
 */
export class LdifLines {
  private line = '';
  /** Number of the first physical line of `line`; 0 before the first one. */
  private number = 0;
  private physicalNumber: number;
  /** The begin of a physical line whose end has not been read. */
  private rest = '';

  /**
   * @param maximumBytes size of the largest accepted line after unfolding, in bytes
   * @param first the number of the first line
   */
  constructor(
    private readonly maximumBytes: number,
    first = 1,
  ) {
    this.physicalNumber = first - 1;
  }

  /**
   * Yields the lines that this chunk completes.
   *
   * @throws {LdifError} for a line that is too long, for a continuation without a line before it, and for a
   *   NUL or a carriage return inside a line
   */
  *push(chunk: Buffer): Generator<LogicalLine> {
    const lines = (this.rest + chunk.toString('latin1')).split('\n');
    this.rest = lines.pop() ?? '';
    yield* this.join(lines);
    // Throws: the line is too long, even if its first character is the space of a continuation.
    if (this.rest.length > this.maximumBytes + 1) yield* this.join([this.rest]);
  }

  /** Yields the last line, which need not end in a line feed. */
  *end(): Generator<LogicalLine> {
    if (this.rest !== '') yield* this.join([this.rest]);
    if (this.number > 0) yield { text: this.line, number: this.number };
  }

  private *join(lines: readonly string[]): Generator<LogicalLine> {
    for (const line of lines) {
      this.physicalNumber += 1;
      const isContinuation = line.startsWith(' ');
      if (!isContinuation) {
        if (this.number > 0) yield { text: this.line, number: this.number };
        this.line = '';
        this.number = this.physicalNumber;
      } else if (this.line === '')
        throw new LdifError(this.physicalNumber, 'a continuation without a preceding line');
      const added = isContinuation ? line.slice(1) : line;
      if (this.line.length + added.length > this.maximumBytes) {
        throw new LdifError(this.number, `longer than ${this.maximumBytes} bytes`);
      }
      this.line += this.contentOf(added);
    }
  }

  private contentOf(line: string): string {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    const [forbidden] = /[\0\r]/.exec(text) ?? [];
    if (forbidden !== undefined) {
      const name = forbidden === '\0' ? 'a NUL' : 'a carriage return';
      const reason = `${name} inside the line; such a value is written in base64`;
      throw new LdifError(this.physicalNumber, reason);
    }
    const isMarked = this.physicalNumber === 1 && text.startsWith(BYTE_ORDER_MARK);
    return isMarked ? text.slice(BYTE_ORDER_MARK.length) : text;
  }
}
