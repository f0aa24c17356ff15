import { Controller, Get, Header, Inject, Res, UseFilters } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { DatabaseIndicator } from './database.indicator.js';
import { HealthFilter } from './health.filter.js';
import { IssuerIndicator } from './issuer.indicator.js';
import { MirrorIndicator } from './mirror.indicator.js';
import { RedisIndicator } from './redis.indicator.js';
import { ShutdownIndicator } from './shutdown.indicator.js';

/** For load balancers and orchestrators: no token, nothing kept by caches. */
@Public()
@Controller()
@UseFilters(HealthFilter)
export class HealthController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly checks: HealthCheckService,
    private readonly database: DatabaseIndicator,
    private readonly mirror: MirrorIndicator,
    private readonly issuer: IssuerIndicator,
    private readonly redis: RedisIndicator,
    private readonly shutdown: ShutdownIndicator,
  ) {}

  /** Whether the process answers. Touches nothing: a restart would not bring a database back. */
  @Get('_health')
  @Header('cache-control', 'no-store')
  health(@Res() reply: FastifyReply): void {
    void reply.send({ status: 'ok' });
  }

  /** Whether requests should be sent here. */
  @Get('_readiness')
  @HealthCheck()
  readiness(): Promise<HealthCheckResult> {
    return this.checks.check([
      () => this.shutdown.check(),
      () => this.database.check(),
      () => this.mirror.check(),
      () => this.issuer.check(),
      ...(this.config.redis === null ? [] : [() => this.redis.check()]),
    ]);
  }
}
