import type { LdapMessage } from './message.js';

export class Inbox {
  private readonly arrived: { message: LdapMessage; bytes: number }[] = [];
  private end: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param onTake called with the size in bytes of each message that leaves the queue */
  constructor(private readonly onTake: (bytes: number) => void) {}

  put(message: LdapMessage, bytes: number): void {
    this.arrived.push({ message, bytes });
    this.wake();
  }

  /** Marks the end of the messages. Messages that have arrived can still be taken. */
  fail(error: Error): void {
    this.end ??= error;
    this.wake();
  }

  /** The next message; null when none has arrived. */
  takeArrived(): LdapMessage | null {
    const first = this.arrived.shift();
    if (first === undefined) return null;
    this.onTake(first.bytes);
    return first.message;
  }

  /**
   * Waits for the next message. Only one caller may wait at a time.
   * @throws the error that ended the connection, after the last message
   */
  async take(): Promise<LdapMessage> {
    for (;;) {
      const message = this.takeArrived();
      if (message !== null) return message;
      if (this.end !== null) throw this.end;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  clear(): void {
    while (this.takeArrived() !== null);
  }
}
