import { BackgroundWriter } from './background-writer.js';

/** Output of a log. */
export interface LogStream {
  write(line: string): unknown;
  /** Writes the buffered lines. */
  flush?(): void;
}

/** Milliseconds that a line waits for others. */
const LONGEST_WAIT_MS = 200;

/** Standard output, written in the background, and synchronously when the process ends in any way. */
export class BufferedOutput implements LogStream {
  private readonly output = new BackgroundWriter();
  private readonly together = this.output.together;
  private waiting = '';
  private timer: NodeJS.Timeout | null = null;

  constructor() {
    process.on('exit', () => {
      this.flush();
      this.output.finish();
    });
  }

  write(line: string): void {
    if (this.waiting.length + line.length > this.together) this.flush();
    this.waiting += line;
    if (this.waiting.length >= this.together) this.flush();
    else
      this.timer ??= setTimeout(() => {
        this.flush();
      }, LONGEST_WAIT_MS).unref();
  }

  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { waiting } = this;
    this.waiting = '';
    if (waiting === '') return;
    // Most lines have one byte a character.
    const isTooLong = Buffer.byteLength(waiting) > this.together;
    for (const part of isTooLong ? waiting.split(/(?<=\n)/) : [waiting]) this.output.add(part);
  }
}
