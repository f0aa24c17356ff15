import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';

/** Milliseconds for which a balancer can see that the service ends, before it stops listening. */
const NOTICE = 1000;
/** Milliseconds that requests have to come to an end, once no new ones are taken. */
const PATIENCE = 10_000;

/** From the moment the process is asked to end, no new requests should come. */
@Injectable()
export class ShutdownIndicator implements BeforeApplicationShutdown {
  private ending = false;

  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.ending = true;
    // Whoever presses Ctrl+C is no balancer, and does not want to wait.
    if (signal === 'SIGTERM') await sleep(NOTICE);
    const { httpAdapter } = this.adapterHost as Partial<HttpAdapterHost>;
    const server = httpAdapter?.getHttpServer() as Server | undefined;
    setTimeout(() => server?.closeAllConnections(), PATIENCE).unref();
  }

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('process');
    return this.ending ? indicator.down('shutting down') : indicator.up();
  }
}
