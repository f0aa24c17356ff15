import { once } from 'node:events';
import type { FastifyInstance } from 'fastify';
import { HttpAdapter, type RawHandler } from './http-adapter.js';

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
