import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';

/** Down as soon as the process has got the signal to shut down. */
@Injectable()
export class ShutdownIndicator implements OnModuleDestroy {
  private ending = false;

  constructor(private readonly indicators: HealthIndicatorService) {}

  onModuleDestroy(): void {
    this.ending = true;
  }

  check(): HealthIndicatorResult {
    const indicator = this.indicators.check('process');
    return this.ending ? indicator.down('shutting down') : indicator.up();
  }
}
