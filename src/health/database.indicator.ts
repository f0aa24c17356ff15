import { Inject, Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Database } from '../database/database.js';
import { Replicas } from '../database/replicas.js';
import { statement } from '../database/statement.js';
import { within } from './within.js';

/**
 * Whether the database can be written, without writing: whether it lets anybody, and whether there is room. Sorting with
 * little memory takes some of the disk, and gives it back.
 */
const PROBE = statement(`
  with little as materialized (select set_config('work_mem', '64kB', true))
  select current_setting('transaction_read_only') = 'on', count(numbers.each)
  from little cross join lateral (select each from generate_series(1, 8000) each order by each desc) numbers`);
/** Milliseconds. */
const PATIENCE = 1000;

/** Without its database, the service can answer nothing; its replicas are reported only. */
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
      const [[isReadOnly] = [true]] = await within(PATIENCE, this.database.read<[boolean, string]>(PROBE));
      return isReadOnly ? indicator.down(report) : indicator.up(report);
    } catch {
      return indicator.down(report); // Why is in the log of whoever needed it; this answer is public.
    }
  }
}
