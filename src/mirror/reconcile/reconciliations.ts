import type { Writer } from '../../database/statements/writer.js';

/** How much of every entry a reconciliation compares: whether it is there, where, and when it was changed; or all of it. */
export const RECONCILIATION_KINDS = ['identities', 'contents'] as const;
export type ReconciliationKind = (typeof RECONCILIATION_KINDS)[number];

/** How the last reconciliation of a kind ended. */
export interface Reconciliation {
  readonly kind: ReconciliationKind;
  readonly finishedAt: Date;
  /** Entries that were compared. */
  readonly entries: number;
  /** Entries that differed from the mirror and have been taken over. */
  readonly healed: number;
  readonly seconds: number;
  /** How many there have been. */
  readonly runs: number;
}

/** The last reconciliations that have finished, each of another kind. */
export async function readReconciliations(manager: Writer): Promise<Reconciliation[]> {
  return manager.query(
    `select kind, finished_at as "finishedAt", entries, healed, seconds, runs from reconciliations order by kind desc`,
  );
}

/** Keeps how reconciliations have ended. */
export async function writeReconciliations(
  manager: Writer,
  kinds: readonly ReconciliationKind[],
  { finishedAt, entries, healed, seconds }: Omit<Reconciliation, 'kind' | 'runs'>,
): Promise<void> {
  await manager.query(
    `insert into reconciliations as r (kind, finished_at, entries, healed, seconds, runs)
     select kind, $2, $3, $4, $5, 1 from unnest($1::text[]) as given (kind)
     on conflict on constraint reconciliations_pk do update set finished_at = excluded.finished_at,
       entries = excluded.entries, healed = excluded.healed, seconds = excluded.seconds, runs = r.runs + 1`,
    [kinds, finishedAt, entries, healed, seconds],
  );
}

/** Makes a reconciliation due at once, also for a process that takes over: nothing is known of the last one any more. */
export async function forgetReconciliation(manager: Writer, kind: ReconciliationKind): Promise<void> {
  await manager.query('delete from reconciliations where kind = $1', [kind]);
}

/** What reconciliations of this process have done, for metrics. */
export class ReconciliationCounts {
  readonly healed = new Map<ReconciliationKind, number>();

  add(kind: ReconciliationKind, healed: number): void {
    this.healed.set(kind, (this.healed.get(kind) ?? 0) + healed);
  }
}
