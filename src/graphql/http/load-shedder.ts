import { Injectable } from '@nestjs/common';
import { ServiceUnavailableError } from '../../common/errors.js';

const INTERVAL_MS = 100;
/** A process whose event loop is late by so many milliseconds answers nothing in time. */
const MAX_DELAY_MS = 500;
/** Measurements in a row: a single long task is no overload. */
const MOST_LATE = 3;

/** Rejects requests while the event loop is late (docs/adr/0023). */
@Injectable()
export class LoadShedder {
  rejected = 0;
  /** The last measurements at which the event loop was late. */
  private late = 0;
  private measuredAt = performance.now();

  constructor() {
    setInterval(() => {
      const now = performance.now();
      this.late = now - this.measuredAt > INTERVAL_MS + MAX_DELAY_MS ? this.late + 1 : 0;
      this.measuredAt = now;
    }, INTERVAL_MS).unref();
  }

  /** @throws ServiceUnavailableError while the process is overloaded */
  admit(): void {
    if (this.late < MOST_LATE) return;
    this.rejected++;
    throw new ServiceUnavailableError('The service is overloaded: try again in a second');
  }
}
