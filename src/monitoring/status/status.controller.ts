import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../auth/access.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { pageHeaders } from '../../pages/policy.js';
import { History } from './history.js';
import { renderStatusPage, STATUS_PAGE_DIRECTIVES } from './status-page.js';

/** The page that shows `/_readiness` to people, with the last hour. */
@Public()
@Controller('status')
export class StatusController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly history: History,
  ) {}

  @Get()
  page(@Res() reply: FastifyReply): void {
    void reply.headers(pageHeaders(STATUS_PAGE_DIRECTIVES)).send(renderStatusPage(this.config));
  }

  /** For the page. The number of requests is public only where the metrics are. */
  @Get('history')
  @Header('cache-control', 'no-store')
  async minutes(@Res() reply: FastifyReply): Promise<void> {
    const isCounted = this.config.monitoring.metrics?.kind === 'beside';
    const minutes = await this.history.readAll();
    await reply.send({
      minutes: minutes.map(({ at, ageSeconds, requests }) => ({
        at: new Date(at),
        ageSeconds,
        ...(isCounted ? { requests } : {}),
      })),
    });
  }
}
