import { Inject, Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Database } from '../database/database.js';
import { Replicas } from '../database/connections/replicas.js';
import { statement } from '../database/statements/statement.js';
import { TAKES_WRITES } from '../database/revisions/revisions.js';
import { withTimeout } from './check-timeout.js';

const PROBE = statement(`select ${TAKES_WRITES}`);

/** Down without the primary. Replicas are reported only. */
@Injectable()
export class DatabaseIndicator {
  constructor(
    private readonly database: Database,
    @Inject(Replicas) private readonly replicas: Replicas | null,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('database');
    const report: Record<string, unknown> = this.replicas === null ? {} : { replicas: this.replicas.count };
    try {
      const [[takesWrites] = [false]] = await withTimeout(this.database.read<[boolean]>(PROBE));
      return takesWrites ? indicator.up(report) : indicator.down(report);
    } catch {
      return indicator.down(report); // Without the reason, because the response is public.
    }
  }
}
