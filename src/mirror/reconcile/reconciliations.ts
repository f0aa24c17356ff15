import type { Writer } from '../../database/statements/statement.js';

/**
 * What a reconciliation compares of every entry. `identities`: whether it exists, its DN, and when it was
 * changed. `contents`: the whole entry.
 */
export const RECONCILIATION_KINDS = ['identities', 'contents'] as const;
export type ReconciliationKind = (typeof RECONCILIATION_KINDS)[number];

export interface Reconciliation {
  readonly kind: ReconciliationKind;
  readonly finishedAt: Date;
  readonly entries: number;
  /** Number of entries that differed from the mirror and have been applied. */
  readonly healed: number;
  readonly seconds: number;
  readonly runs: number;
}

export async function readReconciliations(manager: Writer): Promise<Reconciliation[]> {
  return manager.query(
    `select kind, finished_at as "finishedAt", entries, healed, seconds, runs from reconciliations order by kind desc`,
  );
}

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

/**
 * Deletes the result of the last reconciliation. This makes the next one due at once, also in a process that
 * becomes the leader.
 */
export async function forgetReconciliation(manager: Writer, kind: ReconciliationKind): Promise<void> {
  await manager.query('delete from reconciliations where kind = $1', [kind]);
}

/** Number of entries that the reconciliations of this process have healed, for metrics. */
export class ReconciliationCounts {
  readonly healed = new Map<ReconciliationKind, number>();

  add(kind: ReconciliationKind, healed: number): void {
    this.healed.set(kind, (this.healed.get(kind) ?? 0) + healed);
  }
}
