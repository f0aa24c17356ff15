import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { LoadGate } from './load-gate.js';
import { GRAPHQL_PATH } from './refusal.js';

declare module 'fastify' {
  interface FastifyInstance {
    flood: {
      /** Null: nothing is refused so early. */
      gate: Pick<Flood, 'refuses'> | null;
      /** Is told of each request that was; null: nobody is. */
      watch: ((requestId: string, method: string, status: number) => void) | null;
    };
  }
}

/**
 * Refuses what is one too many while most of what comes is (docs/adr/0023): before it has a route, hooks and a reply, which
 * take longer than all the rest of a refusal. What may be anything but a plain request to the endpoint goes on to Fastify.
 */
@Injectable()
export class Flood implements OnModuleInit {
  /** The endpoint as it may come: a proxy in front may keep the path of BASE_URL, or take it away. */
  private readonly paths: readonly string[];

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    @Inject(CONFIG) { basePath }: Config,
    private readonly gate: LoadGate,
  ) {
    this.paths = [...new Set([GRAPHQL_PATH, `${basePath}${GRAPHQL_PATH}`])];
  }

  onModuleInit(): void {
    // Commands run without HTTP, and then there is no adapter, whatever its type says.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null | undefined;
    const fastify = adapter?.getInstance<FastifyInstance>();
    if (fastify?.hasDecorator('flood') === true) fastify.flood.gate = this;
  }

  /** Whether a request is one too many; then it counts as refused. */
  refuses({ url = '', headers }: IncomingMessage): boolean {
    // Pages of other origins are told by headers of Fastify's that they may read the refusal.
    return (
      this.gate.isFlooded &&
      headers.origin === undefined &&
      this.paths.some((path) => url === path || url.startsWith(`${path}?`)) &&
      this.gate.refusesUnread(performance.now())
    );
  }
}
