import { ServiceUnavailableError } from '../../common/errors.js';

/**
 * Runs a limited number of tasks concurrently. A bounded number of further tasks waits in order of arrival.
 */
export class Turnstile {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly width: number,
    private readonly queue: number,
  ) {}

  /** @throws ServiceUnavailableError when too many tasks are already waiting */
  async pass<Result>(task: () => Promise<Result>): Promise<Result> {
    await this.enter();
    try {
      return await task();
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    if (this.running < this.width) {
      this.running += 1;
      return;
    }
    if (this.waiting.length >= this.queue) {
      throw new ServiceUnavailableError('Too many pictures are being prepared at the moment');
    }
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Passes the slot directly to the next waiting task, so that no new task can take it first. */
  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}
