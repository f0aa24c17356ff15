import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Header,
  Res,
  ServiceUnavailableException,
  UseFilters,
} from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';
import { Indicators } from './indicators.js';

/** Routes that machines request periodically, and that say nothing about the use of the service. */
export const PROBE_ROUTES: ReadonlySet<string> = new Set(['/_health', '/_readiness', '/metrics']);

/** Milliseconds for which a report is reused: anyone can ask, and a check takes a connection to the database. */
const REUSED_MS = 200;

/** Sends the report that Terminus throws if a check has failed. */
@Catch(ServiceUnavailableException)
class HealthFilter implements ExceptionFilter<ServiceUnavailableException> {
  catch(error: ServiceUnavailableException, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(503).header('retry-after', '1').send(error.getResponse());
  }
}

/** For load balancers and orchestrators. Responses must not be cached. */
@Public()
@Controller()
@UseFilters(HealthFilter)
export class HealthController {
  private latest: Promise<HealthCheckResult> | null = null;

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: Indicators,
  ) {}

  /** Whether the process answers. It does not check the database, because a restart would not help. */
  @Get('_health')
  @Header('cache-control', 'no-store')
  isAlive(@Res() reply: FastifyReply): void {
    void reply.send({ status: 'ok' });
  }

  /** Whether this process should get requests. Its end is shown at once. */
  @Get('_readiness')
  @HealthCheck()
  readiness(): Promise<HealthCheckResult> {
    if (this.latest === null || this.indicators.isEnding) this.latest = this.check();
    return this.latest;
  }

  private check(): Promise<HealthCheckResult> {
    const { process, primary, mirror, identityProvider, redis } = this.indicators;
    const report = this.health.check([process, primary, mirror, identityProvider, redis]);
    const forget = () => {
      setTimeout(() => {
        this.latest = null;
      }, REUSED_MS).unref();
    };
    report.then(forget, forget);
    return report;
  }
}
