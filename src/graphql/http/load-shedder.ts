import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ServiceUnavailableError } from '../../common/errors.js';

/** Milliseconds between two measurements. */
const INTERVAL_MS = 100;
/** A process whose event loop is late by so many milliseconds answers nothing in time. */
const MAX_DELAY_MS = 500;

/** Rejects requests while the event loop is late (docs/adr/0023). */
@Injectable()
export class LoadShedder implements OnApplicationShutdown {
  /** Since the start. */
  rejected = 0;
  private isLate = false;
  private measuredAt = performance.now();
  private readonly timer = setInterval(() => {
    const now = performance.now();
    this.isLate = now - this.measuredAt > INTERVAL_MS + MAX_DELAY_MS;
    this.measuredAt = now;
  }, INTERVAL_MS).unref();

  /** @throws ServiceUnavailableError while the process is overloaded */
  admit(): void {
    if (!this.isLate) return;
    this.rejected++;
    throw new ServiceUnavailableError('The service is overloaded: try again in a second');
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }
}
