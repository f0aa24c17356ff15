import DataLoader from 'dataloader';
import type { Database } from '../database/database.js';
import { FIND_LIVE, type LiveRow } from './service-account.queries.js';

/** Statements that run at the same time. With one, a lost connection would hold up every account. */
const MAX_STATEMENTS = 2;
/** Accounts that one statement looks up. */
const MAX_ACCOUNTS = 100;

/**
 * Looks up service accounts, several with one statement. Each request with a secret needs a lookup, also one from an address
 * with too many failed logins, whose secret may be right. While MAX_STATEMENTS run, later requests wait for the next
 * one together, so that a flood of wrong secrets does not take the connections of the database. Nothing is remembered: a
 * lookup sees every change that was committed before it was requested.
 */
export class LiveAccounts {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly loader = new DataLoader<string, LiveRow | null>((ids) => this.read(ids), {
    cache: false,
    maxBatchSize: MAX_ACCOUNTS,
    batchScheduleFn: (send) => {
      this.waiting.push(send);
      // Not at once: the loader adds the id to the batch after this call.
      setImmediate(() => {
        this.sendNext();
      });
    },
  });

  constructor(private readonly database: Pick<Database, 'read'>) {}

  /** @returns null if the id cannot be that of an account */
  async find(id: string): Promise<LiveRow | null> {
    // PostgreSQL's text cannot contain NUL, and no id does.
    return id.includes('\0') ? null : this.loader.load(id);
  }

  private sendNext(): void {
    if (this.running === MAX_STATEMENTS) return;
    this.waiting.shift()?.();
  }

  private async read(ids: readonly string[]): Promise<(LiveRow | null)[]> {
    this.running++;
    try {
      const rows = await this.database.read<LiveRow>(FIND_LIVE, [[...new Set(ids)], new Date()]);
      const byId = new Map(rows.map((row) => [row[0], row]));
      return ids.map((id) => byId.get(id) ?? null);
    } finally {
      this.running--;
      this.sendNext();
    }
  }
}
