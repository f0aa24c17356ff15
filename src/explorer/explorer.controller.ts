import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders } from '../pages/policy.js';
import { ExplorerAssets } from './explorer-assets.js';
import { explorerDirectives, renderExplorer } from './explorer-page.js';

@Public()
@Controller()
export class ExplorerController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly assets: ExplorerAssets,
  ) {}

  /** Serves the page, also for redirects from the identity provider: the page reads its own address. */
  @Get(['explorer', 'explorer/callback'])
  page(@Res() reply: FastifyReply): void {
    void reply
      .headers(pageHeaders(explorerDirectives(this.config)))
      .send(renderExplorer(this.config, this.assets.entry));
  }
}
