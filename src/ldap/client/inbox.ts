import type { LdapMessage } from './message.js';

interface Arrived {
  readonly message: LdapMessage;
  readonly bytes: number;
}

/** What has arrived for one operation and has not been taken yet. */
export class Inbox {
  private readonly arrived: Arrived[] = [];
  private end: Error | null = null;
  private wake: () => void = () => undefined;

  /** @param onTake told of the bytes of each message that leaves */
  constructor(private readonly onTake: (bytes: number) => void) {}

  put(message: LdapMessage, bytes: number): void {
    this.arrived.push({ message, bytes });
    this.wake();
  }

  /** Nothing more will come. What has arrived can still be taken. */
  fail(error: Error): void {
    this.end ??= error;
    this.wake();
  }

  /** The next message, if it is there. */
  takeArrived(): LdapMessage | null {
    const first = this.arrived.shift();
    if (first === undefined) return null;
    this.onTake(first.bytes);
    return first.message;
  }

  /**
   * The next message, as soon as there is one. One caller at a time.
   * @throws what ended the connection, after the last message
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

  /** Lets go of everything that has arrived. */
  clear(): void {
    while (this.takeArrived() !== null);
  }
}
