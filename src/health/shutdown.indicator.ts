import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';

/** From the moment the process is asked to end, no new requests should come. */
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
