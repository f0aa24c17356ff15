import { fstatSync } from 'node:fs';
import { pino } from 'pino';

/** Output of a log. */
export interface LogStream {
  write(line: string): unknown;
  /** Writes the buffered lines. */
  flush?(): void;
}

/** Bytes of lines that are written together to a file or a terminal, and milliseconds that a line waits for others. */
const WRITTEN_TOGETHER = 32_768;
/**
 * Bytes that a pipe takes without bytes of other processes between them (POSIX.1-2017, write; PIPE_BUF of Linux): several processes
 * of a service write to one output. Longer lines are written alone.
 */
const WRITTEN_TO_PIPES = 4096;
const LONGEST_WAIT_MS = 200;
/** Maximum bytes of unwritten lines. Further lines are lost, and the service continues. */
const MOST_WAITING = 16_000_000;

/**
 * Standard output, written in the background, and synchronously when the process ends in any way. The stream of pino would measure
 * all buffered bytes again at each line.
 */
export class BufferedOutput implements LogStream {
  private readonly together = isPipe(1) ? WRITTEN_TO_PIPES : WRITTEN_TOGETHER;
  private readonly output = pino.destination({
    dest: 1,
    sync: false,
    maxLength: MOST_WAITING,
    // It writes what has arrived meanwhile in one piece up to this number of bytes.
    maxWrite: this.together,
  });
  private waiting = '';
  private timer: NodeJS.Timeout | null = null;

  constructor() {
    process.on('exit', () => {
      this.output.flushSync();
      // The output would write the first of the lines in the background, after those that are flushed.
      const last = pino.destination({ dest: 1, sync: true, maxWrite: this.together });
      for (const part of this.takeWaiting()) last.write(part);
      last.flushSync();
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
    for (const part of this.takeWaiting()) this.output.write(part);
  }

  /** The waiting lines, in parts that a pipe takes at once. */
  private takeWaiting(): readonly string[] {
    const { waiting } = this;
    this.waiting = '';
    if (waiting === '') return [];
    // Most lines have one byte a character.
    return Buffer.byteLength(waiting) > this.together ? waiting.split(/(?<=\n)/) : [waiting];
  }
}

function isPipe(descriptor: number): boolean {
  const status = fstatSync(descriptor);
  return status.isFIFO() || status.isSocket();
}
