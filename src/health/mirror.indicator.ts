import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { describeTrouble, MirrorState } from '../mirror/status/mirror-state.js';
import { within } from './within.js';

/** Milliseconds. */
const PATIENCE = 1000;

/**
 * Whether there is a mirror at all: before the directory was read for the first time, nothing can be answered. Afterwards its
 * age is reported, and is no reason to send requests elsewhere, where it is the same.
 */
@Injectable()
export class MirrorIndicator {
  constructor(
    private readonly state: MirrorState,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('mirror');
    try {
      const status = await within(PATIENCE, this.state.get());
      const { state, asOf, revision } = status;
      if (revision === null) {
        const reason = describeTrouble(status) ?? 'The directory has not been read yet';
        return indicator.down({ state, ageSeconds: null, reason });
      }
      const ageSeconds = asOf === null ? null : Math.max(0, Math.round((Date.now() - asOf.getTime()) / 1000));
      return indicator.up({ state, ageSeconds });
    } catch {
      // The database is away, and its own check says so.
      return indicator.up({ state: 'UNKNOWN', ageSeconds: null });
    }
  }
}
