import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { HttpAdapter } from './http-adapter.js';

/** Readiness fails for this time before the port is closed, so that balancers can see it. */
const READINESS_DELAY_MS = 1000;
/** Requests have this time after the port was closed. */
const DRAIN_TIMEOUT_MS = 10_000;

/**
 * Ends the service without losing a request: readiness fails, the port is closed, open requests are answered.
 */
@Injectable()
export class GracefulShutdown implements BeforeApplicationShutdown {
  constructor(private readonly host: HttpAdapterHost) {}

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    const adapter = this.host.httpAdapter as unknown;
    // Commands do not listen.
    if (!(adapter instanceof HttpAdapter)) return;
    // Another process gets the new connections.
    if (signal === 'SIGHUP') {
      adapter.stopAccepting();
      await sleep(READINESS_DELAY_MS);
      adapter.getHttpServer().closeIdleConnections();
    }
    // SIGINT comes from a terminal, where no balancer is.
    if (signal === 'SIGTERM') {
      await sleep(READINESS_DELAY_MS);
      await adapter.stopListening();
    }
    adapter.drained.abort();
    setTimeout(() => {
      adapter.getHttpServer().closeAllConnections();
    }, DRAIN_TIMEOUT_MS).unref();
  }
}
