import { Controller, Get, Inject, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders } from '../pages/policy.js';
import { ExplorerAssets } from './explorer-assets.js';
import { explorerDirectives, renderExplorer } from './explorer-page.js';

@Controller()
export class ExplorerController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly assets: ExplorerAssets,
    private readonly host: HttpAdapterHost<FastifyAdapter>,
  ) {}

  /** The page, also for those who come back from the identity provider: it reads its own address. */
  @Get(['explorer', 'explorer/callback'])
  page(@Res() reply: FastifyReply): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const hasReference =
      this.config.disclosure.introspection && fastify.hasRoute({ method: 'GET', url: '/reference' });
    void reply
      .headers(pageHeaders(explorerDirectives(this.config)))
      .send(renderExplorer(this.config, this.assets.entry, hasReference));
  }
}
