import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { isSampleDirectory } from '../config/settings/directory.js';
import { mayUseEmbedded } from '../config/settings/embedded.js';
import { pageHeaders } from '../pages/policy.js';
import { DemoServiceAccount } from '../service-accounts/demo-service-account.js';
import { renderStartPage, START_PAGE_DIRECTIVES } from './start-page.js';

@Public()
@Controller()
export class StartPageController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly demo: DemoServiceAccount,
  ) {}

  @Get('/')
  async page(@Req() { raw }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const demoToken = await this.findDemoToken(raw.headers.host);
    void reply.headers(pageHeaders(START_PAGE_DIRECTIVES)).send(renderStartPage(this.config, demoToken));
  }

  /** Null: the token must not be shown, or the database is unavailable, without which the page is useful too. */
  private async findDemoToken(host: string | undefined): Promise<string | null> {
    const { production, directory } = this.config;
    if (production || !isSampleDirectory(directory) || !mayUseEmbedded(this.config, host)) return null;
    try {
      return await this.demo.find();
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }
}
