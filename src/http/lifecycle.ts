import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { HttpAdapter, type RawHandler } from './http-adapter.js';
import { once } from 'node:events';
import type { FastifyInstance } from 'fastify';

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

/** Listens before there is an application, so that requests during a long start get a response. */
export class StartupAdapter extends HttpAdapter {
  /** Opens the port with a handler until the application listens. Throws if it cannot be opened. */
  async open(port: number, host: string, handler: RawHandler): Promise<void> {
    // Fastify listens on every address of this name, which a server of Node does not.
    if (host === 'localhost') return;
    this.startupHandler = handler;
    this.fastify.server.listen(port, host);
    await once(this.fastify.server, 'listening');
  }

  get isOpen(): boolean {
    return this.fastify.server.listening;
  }

  /** On an open port the application takes over, and no connection is lost. */
  override listen(
    port: string | number,
    ...rest: [host?: string | (() => void), callback?: () => void]
  ): void {
    if (this.startupHandler === null) {
      super.listen(port, ...(rest as [string, () => void]));
      return;
    }
    const done = rest.at(-1) as (error: Error | null) => void;
    this.fastify.ready((error) => {
      if (error === null) this.startupHandler = null;
      done(error);
    });
  }

  private get fastify(): FastifyInstance {
    return this.getInstance<FastifyInstance>();
  }
}
