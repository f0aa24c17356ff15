import type { DataSource, EntityManager } from 'typeorm';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Application, BulkContent } from '../apply/application.js';
import type { TransactionSource } from '../apply/transaction-watch.js';
import { applyBulk, REFERENCES } from '../bulk/apply-bulk.js';
import { BulkPlan } from '../bulk/bulk-plan.js';
import type { BulkSession } from '../bulk/bulk-session.js';
import { BULK_LIMIT, readWhole } from '../bulk/read-whole.js';
import type { DirectorySource } from '../../sources/source.js';
import { PictureStore } from '../apply/picture-store.js';
import type { Progress } from './read-entries.js';
import { planWhole } from '../plan/planning.js';
import { countStored } from '../plan/stored-counts.js';
import type { Quarantined, Skipped } from '../map/snapshot.js';
import { countLosses, lackingInPlan, type LossCounts } from '../plan/attribute-losses.js';
import { changesNothing, EMPTY_PLAN, type Plan, summaryOf } from '../plan/plan.js';
import type { Findings } from './outcome.js';

/** The part of an Application that describes the reading of the source. */
export type Reading = Pick<Application, 'asOf' | 'fingerprint' | 'position' | 'covers' | 'signal' | 'stamps'>;

/** A plan that can be checked and applied. */
export interface Planned {
  readonly findings: Findings;
  readonly lost: LossCounts;
  readonly readHash: () => Promise<string>;
  /** For an Application. */
  readonly readContent: () => Promise<{ readonly plan: Plan; readonly bulk: BulkContent | null }>;
  /** Where its transaction runs. Null: on any connection. */
  readonly session: TransactionSource | null;
}

export async function plannedInMemory(
  manager: EntityManager,
  plan: Plan,
  mapping: DirectoryMapping,
  left: { readonly quarantined: readonly Quarantined[]; readonly skipped: Skipped | null },
): Promise<Planned> {
  const { quarantined, skipped } = left;
  return {
    findings: { plan, summary: summaryOf(plan), hash: plan.hash, quarantined, skipped },
    lost: await countLosses(manager, lackingInPlan(plan, mapping), mapping),
    readHash: () => Promise.resolve(plan.hash),
    readContent: () => Promise.resolve({ plan, bulk: null }),
    session: null,
  };
}

/** @param isFirst whether the mirror is empty */
async function plannedInBulk(
  session: BulkSession,
  mapping: DirectoryMapping,
  isFirst: boolean,
  quarantined: readonly Quarantined[],
): Promise<Planned> {
  const writer = await session.open();
  const planned = await BulkPlan.make(writer, mapping, isFirst);
  const { summary, duplicates } = planned;
  const all = [...quarantined, ...duplicates];
  return {
    findings: { plan: null, summary, hash: null, quarantined: all, skipped: null },
    lost: await planned.countLosses(mapping),
    readHash: () => planned.readHash(),
    readContent: async () => ({
      // Nothing is logged of a first revision.
      plan: isFirst || changesNothing(summary) ? EMPTY_PLAN : await planned.readChanged(),
      bulk: {
        groups: await planned.readGroups(isFirst),
        applyEntries: (now, signal) => applyBulk(writer, mapping, now, signal),
        applyReferences: async () => {
          for (const statement of REFERENCES) await writer.query(statement);
        },
      },
    }),
    session,
  };
}

interface SourceOptions {
  readonly mapping: DirectoryMapping;
  /** See RecordDigests. */
  readonly model: string;
  /** Whether the mirror is empty. */
  readonly isFirst: boolean;
  readonly signal: AbortSignal;
  readonly progress?: Progress;
  readonly bulkLimit?: number;
}

/**
 * Reads and plans a whole source.
 * @param session for a run in bulk; null if the plan must be in memory
 */
export async function planSource(
  dataSource: DataSource,
  source: DirectorySource,
  session: BulkSession | null,
  { mapping, model, isFirst, signal, progress, bulkLimit: limit = BULK_LIMIT }: SourceOptions,
): Promise<Planned> {
  const pictures = await PictureStore.withAllKnown(dataSource);
  const { people, groups } = await countStored(dataSource.manager);
  const mirrored = people + groups;
  const options = { mapping, model, pictures, mirrored, limit, signal, progress };
  const read = await readWhole(source, session, options);
  progress?.({ stage: 'plan' });
  if (read.session !== null) return plannedInBulk(read.session, mapping, isFirst, read.quarantined);
  const { snapshot } = read;
  const { plan, skipped } = await planWhole(dataSource.manager, snapshot, mapping);
  return plannedInMemory(dataSource.manager, plan, mapping, { quarantined: snapshot.quarantined, skipped });
}
