import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Revisions } from '../database/revisions/revisions.js';
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
    private readonly revisions: Revisions,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('mirror');
    try {
      const status = await within(PATIENCE, this.state.get());
      const { state, revision } = status;
      if (revision === null) {
        const reason = describeTrouble(status) ?? 'The directory has not been read yet';
        return indicator.down({ state, ageSeconds: null, reason });
      }
      const age = await within(PATIENCE, this.revisions.readAge());
      // Infinity: a clock was set back, and nobody knows.
      const ageSeconds = age === null || !Number.isFinite(age) ? null : Math.round(age);
      return indicator.up({ state, ageSeconds });
    } catch {
      // The database is away, and its own check says so.
      return indicator.up({ state: 'UNKNOWN', ageSeconds: null });
    }
  }
}
