import { Controller, Get, Header, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../../auth/access.js';
import { METRICS_TYPE } from './metrics-server.js';
import { MetricsService } from './metrics.service.js';

/** Serves metrics on the port of the API. Used only where metrics need no protection from clients. */
@Public()
@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsService) {}

  @Get('metrics')
  @Header('cache-control', 'no-store')
  async read(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.metrics.text();
    // Sent as bytes, because Fastify would add a second charset to text.
    await reply.type(METRICS_TYPE).send(Buffer.from(text));
  }
}
