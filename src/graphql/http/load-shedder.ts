import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ServiceUnavailableError } from '../../common/errors.js';

/** The interval of measurements. */
const INTERVAL_MS = 1000;
/** A process whose event loop is late by this on average answers nothing in time. */
const MAX_DELAY_NS = 500e6;

/** Rejects requests while the event loop is late (docs/adr/0023). */
@Injectable()
export class LoadShedder implements OnApplicationShutdown {
  /** Since the start. */
  rejected = 0;
  private isLate = false;
  private readonly delays = monitorEventLoopDelay();
  private readonly timer = setInterval(() => {
    this.isLate = this.delays.mean > MAX_DELAY_NS;
    this.delays.reset();
  }, INTERVAL_MS).unref();

  constructor() {
    this.delays.enable();
  }

  /** @throws ServiceUnavailableError while the process is overloaded */
  admit(): void {
    if (!this.isLate) return;
    this.rejected++;
    throw new ServiceUnavailableError('The service is overloaded: try again in a second');
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.delays.disable();
  }
}
