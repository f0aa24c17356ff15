import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Limits } from '../limits/limits.js';

/** Whether limits are shared: reported only, since each process goes on with its own. */
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
