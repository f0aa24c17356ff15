/** Events on their way from several streams to one reader; a stream that is far ahead has to wait. */
export class EventQueue<Event> {
  private events: Event[] = [];
  private weight = 0;
  private error: Error | null = null;
  private wakeReader: (() => void) | null = null;
  private wakeWriters: (() => void)[] = [];

  /** @param capacity weight of the events that may wait */
  constructor(private readonly capacity: number) {}

  /** Resolves when there is room for the next one. */
  async put(event: Event, weight: number): Promise<void> {
    this.events.push(event);
    this.weight += weight;
    this.wakeReader?.();
    if (!this.isFull) return;
    await new Promise<void>((resolve) => this.wakeWriters.push(resolve));
  }

  /** Whether there may be more than what can be taken: a stream waits. */
  get isFull(): boolean {
    return this.weight >= this.capacity;
  }

  /** A stream has ended: when everything before has been taken, its error is the reader's. */
  fail(error: Error): void {
    this.error ??= error;
    this.wakeReader?.();
  }

  /** Everything that has come. */
  take(): Event[] {
    const { events, wakeWriters } = this;
    this.events = [];
    this.weight = 0;
    this.wakeWriters = [];
    for (const wake of wakeWriters) wake();
    return events;
  }

  /**
   * Waits until there is something to take.
   * @param milliseconds how long at most
   * @returns whether there is
   * @throws what a stream ended with
   */
  async wait(milliseconds: number): Promise<boolean> {
    if (this.events.length === 0 && this.error === null) {
      await new Promise<void>((resolve) => {
        const timeout = setTimeout(resolve, milliseconds);
        this.wakeReader = () => {
          clearTimeout(timeout);
          resolve();
        };
      });
      this.wakeReader = null;
    }
    if (this.events.length > 0) return true;
    if (this.error !== null) throw this.error;
    return false;
  }
}
