import {
  Controller,
  Get,
  Header,
  Inject,
  Res,
  UseFilters,
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  ServiceUnavailableException,
} from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
} from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/access.js';

/** Sends the report that Terminus throws if a check has failed. */
@Catch(ServiceUnavailableException)
export class HealthFilter implements ExceptionFilter<ServiceUnavailableException> {
  catch(error: ServiceUnavailableException, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(503).header('retry-after', '1').send(error.getResponse());
  }
}

/** Injection token of the checks that make up readiness, in the order of the report. */
export const READINESS_CHECKS = Symbol('READINESS_CHECKS');

export interface ReadinessCheck {
  check(): HealthIndicatorResult | Promise<HealthIndicatorResult>;
}

/** Milliseconds for which the result of a check is reused: anyone can ask, and a check takes a connection to the database. */
const REUSED_MS = 200;

/** Lets concurrent requests share the last result of a check. */
export class SharedCheck implements ReadinessCheck {
  private latest: ReturnType<ReadinessCheck['check']> | null = null;

  constructor(private readonly own: ReadinessCheck) {}

  check(): ReturnType<ReadinessCheck['check']> {
    this.latest ??= this.begin();
    return this.latest;
  }

  private async begin(): Promise<HealthIndicatorResult> {
    try {
      return await this.own.check();
    } finally {
      setTimeout(() => {
        this.latest = null;
      }, REUSED_MS).unref();
    }
  }
}

/** For load balancers and orchestrators. Responses must not be cached. */
@Public()
@Controller()
@UseFilters(HealthFilter)
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    @Inject(READINESS_CHECKS) private readonly checks: readonly ReadinessCheck[],
  ) {}

  /** Whether the process answers. It does not check the database, because a restart would not help. */
  @Get('_health')
  @Header('cache-control', 'no-store')
  isAlive(@Res() reply: FastifyReply): void {
    void reply.send({ status: 'ok' });
  }

  /** Whether this process should get requests. */
  @Get('_readiness')
  @HealthCheck()
  readiness(): Promise<HealthCheckResult> {
    return this.health.check(this.checks.map((each) => () => each.check()));
  }
}
