import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ServiceError } from '../common/errors.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { pageHeaders } from '../pages/policy.js';
import { ServedPages } from '../pages/served-pages.js';
import { DemoServiceAccount } from '../service-accounts/demo-service-account.js';
import { renderStartPage, START_PAGE_DIRECTIVES } from './start-page.js';

@Controller()
export class StartPageController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly demo: DemoServiceAccount,
    private readonly pages: ServedPages,
  ) {}

  @Get('/')
  async page(@Res() reply: FastifyReply): Promise<void> {
    const demoToken = await this.findDemoToken();
    void reply
      .headers(pageHeaders(START_PAGE_DIRECTIVES))
      .send(renderStartPage(this.config, { demoToken, isServed: this.pages.isServed }));
  }

  /** Nothing is told in production, whatever is embedded there. The page is worth reading without its database, too. */
  private async findDemoToken(): Promise<string | null> {
    if (this.config.production) return null;
    try {
      return await this.demo.find();
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }
}
