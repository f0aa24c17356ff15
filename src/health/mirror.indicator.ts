import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Revisions } from '../database/revisions/revisions.js';
import { describeTrouble, MirrorState } from '../mirror/status/mirror-state.js';
import { withTimeout } from './check-timeout.js';

/**
 * Down until the directory has been read for the first time. Afterwards the age of the mirror is reported only, because it is
 * the same in all processes.
 */
@Injectable()
export class MirrorIndicator {
  constructor(
    private readonly state: MirrorState,
    private readonly revisions: Revisions,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('mirror');
    try {
      const status = await withTimeout(this.state.get());
      const { state, revision } = status;
      if (revision === null) {
        const reason = describeTrouble(status) ?? 'The directory has not been read yet';
        return indicator.down({ state, ageSeconds: null, reason });
      }
      const age = await withTimeout(this.revisions.readAge());
      // Infinity if a clock was set back and the age is unknown.
      const ageSeconds = age === null || !Number.isFinite(age) ? null : Math.round(age);
      return indicator.up({ state, ageSeconds });
    } catch {
      // The database is down, which its own check reports.
      return indicator.up({ state: 'UNKNOWN', ageSeconds: null });
    }
  }
}
