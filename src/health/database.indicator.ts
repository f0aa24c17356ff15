import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { Database } from '../database/database.js';
import { statement } from '../database/statement.js';
import { within } from './within.js';

const PING = statement('select 1');
/** Milliseconds. */
const PATIENCE = 1000;

/** Without its database, the service can answer nothing. */
@Injectable()
export class DatabaseIndicator {
  constructor(
    private readonly database: Database,
    private readonly indicators: HealthIndicatorService,
  ) {}

  async check(): Promise<HealthIndicatorResult> {
    const indicator = this.indicators.check('database');
    try {
      await within(PATIENCE, this.database.read(PING));
      return indicator.up();
    } catch {
      return indicator.down(); // Why is in the log of whoever needed it; this answer is public.
    }
  }
}
