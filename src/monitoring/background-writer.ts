import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Bytes of lines that are written together to a file or a terminal. */
const WRITTEN_TOGETHER = 32_768;
/**
 * Bytes that a pipe takes without bytes of other processes between them (POSIX.1-2017, write; PIPE_BUF of Linux): several processes
 * of a service write to one output. Longer lines are written alone.
 */
const WRITTEN_TO_PIPES = 4096;
/** Maximum bytes of unwritten lines. Further lines are lost, and the service continues. */
const MOST_WAITING = 16_000_000;
/** Milliseconds after which a write that failed is tried again: a reader is slow, or a disk is full. */
const PAUSE_MS = 100;
/** The same at the end of the process, and how often: two seconds in all. */
const LAST_PAUSE_MS = 10;
const LAST_ATTEMPTS = 200;

interface Part {
  text: string;
  bytes: number;
}

/**
 * Writes to standard output in the background. A write that fails is repeated, and the process neither fails nor stays because of
 * it: when a process ends, the stream of pino waits without end for space on a full disk.
 */
export class BackgroundWriter {
  private readonly pipe = openPipe();
  /** Bytes of lines that are written at once. */
  readonly together = isShared() ? WRITTEN_TO_PIPES : WRITTEN_TOGETHER;
  private readonly parts: Part[] = [];
  /** What is written next: all of a part, or what is left of it. Null while it is being written. */
  private next: Buffer | null = null;
  private waitingBytes = 0;
  private isBusy = false;
  private hasReported = false;

  /** @param text whole lines */
  add(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.waitingBytes + bytes > MOST_WAITING) {
      this.report('its reader is too slow');
      return;
    }
    this.waitingBytes += bytes;
    const last = this.parts.at(-1);
    if (last !== undefined && last.bytes + bytes <= this.together) {
      last.text += text;
      last.bytes += bytes;
    } else this.parts.push({ text, bytes });
    if (this.isBusy) return;
    this.isBusy = true;
    this.writeSoon();
  }

  /** Writes the rest synchronously, at the end of the process. It gives up what the output does not take. */
  finish(): void {
    let attempts = 0;
    for (let part = this.takeNext(); part !== null; part = this.takeNext()) {
      try {
        this.note(part, writeSync(this.pipe ?? 1, part));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++attempts > LAST_ATTEMPTS) return;
        this.next = part;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_PAUSE_MS);
      }
    }
  }

  /** Not at once: a write that begins while the process ends would not be repeated. */
  private writeSoon(): void {
    setImmediate(() => {
      this.writeNext();
    });
  }

  private writeNext(): void {
    const part = this.takeNext();
    this.isBusy = part !== null;
    if (part === null) return;
    const end = (error: NodeJS.ErrnoException | null, written: number) => {
      if (error === null) {
        this.note(part, written);
        this.writeSoon();
      } else this.repeat(part, error);
    };
    if (this.pipe === null) {
      write(1, part, end);
      return;
    }
    try {
      end(null, writeSync(this.pipe, part));
    } catch (error) {
      this.repeat(part, error as NodeJS.ErrnoException);
    }
  }

  private repeat(part: Buffer, { code, message }: NodeJS.ErrnoException): void {
    this.next = part;
    if (code !== 'EAGAIN') this.report(message);
    setTimeout(() => {
      this.writeNext();
    }, PAUSE_MS).unref();
  }

  private takeNext(): Buffer | null {
    const { next } = this;
    this.next = null;
    if (next !== null) return next;
    const part = this.parts.shift();
    return part === undefined ? null : Buffer.from(part.text);
  }

  private note(part: Buffer, written: number): void {
    this.waitingBytes -= written;
    if (written < part.length) this.next = part.subarray(written);
  }

  /** Once, because standard error may have no reader either. */
  private report(reason: string): void {
    if (!this.hasReported)
      console.error(`The log cannot be written: ${reason}. Lines beyond 16 MB are lost.`);
    this.hasReported = true;
  }
}

/** Whether other processes of the service write between these lines. */
function isShared(): boolean {
  const status = fstatSync(1);
  return status.isFIFO() || status.isSocket();
}

/**
 * Opens a pipe that is standard output once more, for writes that fail when it is full instead of waiting: neither the event loop nor
 * the end of the process may depend on a reader. The mode of standard output itself is shared with other processes, and libuv
 * changes it whenever one of them starts or ends. Null: it is no pipe, or may not be opened again, as after a change of the user.
 */
function openPipe(): number | null {
  if (!fstatSync(1).isFIFO()) return null;
  try {
    return openSync('/proc/self/fd/1', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}
