import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { HttpAdapter } from './http-adapter.js';

/** As HttpAdapter, and can listen before there is an application, so that a start that takes its time is answered for. */
export class PatientAdapter extends HttpAdapter {
  /** Those who answer when there is one; null: the port was not opened before. */
  private listeners: readonly RequestListener[] | null = null;

  /**
   * Opens the port.
   * @param meanwhile answers until the application listens
   * @throws Error of the system when it cannot be opened
   */
  async open(port: number, host: string, meanwhile: RequestListener): Promise<void> {
    // Fastify listens on every address of this name, and that is for it to do.
    if (host === 'localhost') return;
    const { server } = this.fastify;
    this.listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request').on('request', meanwhile).listen(port, host);
    await once(server, 'listening');
  }

  get isOpen(): boolean {
    return this.fastify.server.listening;
  }

  /** On a port that is open already the application takes over: no connection is lost. */
  override listen(
    port: string | number,
    ...rest: [host?: string | (() => void), callback?: () => void]
  ): void {
    const { listeners } = this;
    if (listeners === null) {
      super.listen(port, ...(rest as [string, () => void]));
      return;
    }
    const done = rest.at(-1) as (error: Error | null) => void;
    this.fastify.ready((error) => {
      if (error === null) takeOver(this.fastify.server, listeners);
      done(error);
    });
  }

  private get fastify(): FastifyInstance {
    return this.getInstance<FastifyInstance>();
  }
}

function takeOver(server: Server, listeners: readonly RequestListener[]): void {
  server.removeAllListeners('request');
  for (const listener of listeners) server.on('request', listener);
}
