import { Inject, Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { ExternalIssuer } from '../auth/tokens/external-issuer.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { within } from './within.js';

/** Milliseconds. */
const PATIENCE = 1000;
/** Milliseconds for which an answer is repeated: readiness is asked every few seconds by every balancer. */
const REPEAT = 10_000;

/** Whether the issuer answers: reported only, since known keys go on serving without it. */
@Injectable()
export class IssuerIndicator {
  private last: { reachable: boolean; at: number } | null = null;
  private asking: Promise<boolean> | null = null;

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

  /** Everybody who asks meanwhile waits for the same answer: readiness needs no token, and the issuer is not to be flooded. */
  private isReachable(issuer: string): boolean | Promise<boolean> {
    if (this.last !== null && performance.now() - this.last.at <= REPEAT) return this.last.reachable;
    this.asking ??= this.ask(issuer).finally(() => {
      this.asking = null;
    });
    return this.asking;
  }

  private async ask(issuer: string): Promise<boolean> {
    // A new one each time: it keeps what it has learned, and here it is to ask.
    const asked = within(PATIENCE, new ExternalIssuer(issuer, null).discover());
    const reachable = await asked.then(
      () => true,
      () => false,
    );
    this.last = { reachable, at: performance.now() };
    return reachable;
  }
}
