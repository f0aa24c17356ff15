import { Controller, Get, Header, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { MetricsService } from './metrics.service.js';

/** Metrics on the port of the API: only where nobody is to be kept from them. */
@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsService) {}

  @Get('metrics')
  @Header('cache-control', 'no-store')
  async read(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.metrics.text();
    // As bytes: text would get a charset, which is there already.
    await reply.type(this.metrics.contentType).send(Buffer.from(text));
  }
}
