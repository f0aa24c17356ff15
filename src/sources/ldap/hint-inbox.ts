import type { Hint } from '../directory.js';

/** Receives hints from searches that run at the same time. */
export class Inbox {
  private waiting: Hint[] = [];
  private error: Error | null = null;
  private wake: () => void = () => undefined;

  put(hint: Hint): void {
    this.waiting.push(hint);
    this.wake();
  }

  fail(error: unknown): void {
    this.error ??= error instanceof Error ? error : new Error(String(error));
    this.wake();
  }

  /** Yields what arrives, until a search fails. @throws the error of the search, or the reason of the signal */
  async *read(signal: AbortSignal): AsyncGenerator<Hint> {
    const end = () => {
      this.fail(signal.reason);
    };
    signal.addEventListener('abort', end);
    try {
      for (;;) {
        signal.throwIfAborted();
        yield* this.waiting.splice(0);
        if (this.waiting.length > 0) continue;
        if (this.error !== null) throw this.error;
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
}
