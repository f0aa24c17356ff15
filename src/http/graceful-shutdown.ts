import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { HttpAdapter } from './http-adapter.js';

/** Milliseconds for which a balancer can see that the service ends, before it stops listening. */
const NOTICE = 1000;
/** Milliseconds that requests have to come to an end, once no new ones are taken. */
const PATIENCE = 10_000;

/**
 * How the service leaves without losing a request: readiness and answers tell it first, then no more connections are
 * taken, then what is there is answered. Nothing of it waits for ever.
 */
@Injectable()
export class Ending implements BeforeApplicationShutdown {
  constructor(private readonly host: HttpAdapterHost) {}

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    const adapter = this.host.httpAdapter as unknown;
    // The command line has nothing that listens.
    if (!(adapter instanceof HttpAdapter)) return;
    // Whoever presses Ctrl+C is no balancer, and does not want to wait.
    if (signal === 'SIGTERM') {
      await sleep(NOTICE);
      await adapter.stopListening();
    }
    setTimeout(() => {
      adapter.getHttpServer().closeAllConnections();
    }, PATIENCE).unref();
  }
}
