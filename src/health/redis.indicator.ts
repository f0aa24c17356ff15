import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Limits } from '../limits/limits.js';

/** Reports whether limits are shared. It is never down, because each process has limits of its own. */
@Injectable()
export class RedisIndicator {
  constructor(
    private readonly limits: Limits,
    private readonly indicators: HealthIndicatorService,
  ) {}

  check(): HealthIndicatorResult {
    return this.indicators.check('redis').up({ shared: this.limits.isShared });
  }
}
