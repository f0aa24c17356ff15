import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { MirrorState } from '../mirror/mirror-state.js';
import { within } from './within.js';

/** Milliseconds. */
const PATIENCE = 1000;

/** How old the mirror is: reported, and no reason to send requests elsewhere, where it is the same. */
@Injectable()
export class MirrorIndicator {
  constructor(
    private readonly state: MirrorState,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('mirror');
    try {
      const { state, asOf } = await within(PATIENCE, this.state.get());
      const ageSeconds = asOf === null ? null : Math.max(0, Math.round((Date.now() - asOf.getTime()) / 1000));
      return indicator.up({ state, ageSeconds });
    } catch {
      return indicator.up({ state: 'UNKNOWN', ageSeconds: null });
    }
  }
}
