import { ServiceUnavailableError } from '../../common/errors.js';

/** Lets a few tasks run at a time and a bounded number wait, in the order in which they came. */
export class Turnstile {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly width: number,
    private readonly queue: number,
  ) {}

  /** @throws ServiceUnavailableError when too many wait already */
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

  /** The place of the one who leaves goes to the next in the queue, so that nobody slips in between. */
  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}
