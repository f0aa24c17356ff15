import { Inject, Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { ExternalIssuer } from '../auth/tokens/external-issuer.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { withTimeout } from './check-timeout.js';

/** Time for which the result is cached: every balancer checks readiness every few seconds. */
const CACHE_MS = 10_000;

/** Reports whether the issuer answers. It is never down, because known keys work without the issuer. */
@Injectable()
export class IssuerIndicator {
  private last: { reachable: boolean; at: number } | null = null;
  private running: Promise<boolean> | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('identityProvider');
    const { issuer } = this.config.auth;
    if (issuer === null) return indicator.up({ embedded: true });
    return indicator.up({ reachable: await this.isReachable(issuer) });
  }

  /** Concurrent checks share one request, because readiness needs no token and must not cause a flood. */
  private isReachable(issuer: string): boolean | Promise<boolean> {
    if (this.last !== null && performance.now() - this.last.at <= CACHE_MS) return this.last.reachable;
    this.running ??= this.request(issuer).finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async request(issuer: string): Promise<boolean> {
    // A new client each time, because a client keeps its metadata and would send no request.
    const reachable = await withTimeout(new ExternalIssuer(issuer, null).discover()).then(
      () => true,
      () => false,
    );
    this.last = { reachable, at: performance.now() };
    return reachable;
  }
}
