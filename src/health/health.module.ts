import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Header,
  Inject,
  Module,
  Res,
  ServiceUnavailableException,
  UseFilters,
} from '@nestjs/common';
import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  TerminusModule,
} from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { InheritAccess, Public } from '../auth/access.js';
import { type Build, readBuild } from '../config/build.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import { MirrorModule } from '../mirror/mirror.module.js';
import {
  DatabaseIndicator,
  IdentityProviderIndicator,
  MirrorIndicator,
  ProcessIndicator,
  RedisIndicator,
} from './indicators.js';

@ObjectType({ description: 'The build of the service.' })
export class BuildInfo implements Build {
  @InheritAccess()
  @Field(() => String, { description: 'The semantic version.' })
  version!: string;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description: 'The commit from which the service was built. Null if it is unknown.',
  })
  commit!: string | null;
}

@Resolver()
class BuildInfoResolver {
  private readonly build = readBuild();

  @Public()
  @CachePolicy()
  @Query(() => BuildInfo, { description: 'The version and the commit of the service.' })
  buildInfo(): BuildInfo {
    return this.build;
  }
}

/** Sends the report that Terminus throws if a check has failed. */
@Catch(ServiceUnavailableException)
class HealthFilter implements ExceptionFilter<ServiceUnavailableException> {
  catch(error: ServiceUnavailableException, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(503).header('retry-after', '1').send(error.getResponse());
  }
}

/** Injection token of the checks that make up readiness, in the order of the report. */
const READINESS_CHECKS = Symbol('READINESS_CHECKS');

interface ReadinessCheck {
  check(): HealthIndicatorResult | Promise<HealthIndicatorResult>;
}

/** Milliseconds for which the result of a check is reused: anyone can ask, and a check takes a connection to the database. */
const REUSED_MS = 200;

/** Lets concurrent requests share the last result of a check. */
class SharedCheck implements ReadinessCheck {
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
class HealthController {
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

/**
 * What readiness depends on; indicators.ts has the rule of each. Shutdown, database and mirror can fail it; issuer and Redis
 * only report.
 */
const INDICATORS = [
  ProcessIndicator,
  DatabaseIndicator,
  MirrorIndicator,
  IdentityProviderIndicator,
  RedisIndicator,
];

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), MirrorModule],
  controllers: [HealthController],
  providers: [
    BuildInfoResolver,
    ...INDICATORS,
    {
      provide: READINESS_CHECKS,
      inject: [CONFIG, ...INDICATORS],
      useFactory: ({ redis }: Config, ...checks: ReadinessCheck[]) =>
        checks
          .filter((each) => redis !== null || !(each instanceof RedisIndicator))
          // The end of the process is shown at once.
          .map((each) => (each instanceof ProcessIndicator ? each : new SharedCheck(each))),
    },
  ],
})
export class HealthModule {}
