import type { EntityManager } from 'typeorm';
import { applyEntries } from './apply-entries.js';
import { EffectiveRoles } from './effective-roles.js';
import { countRemovals, type Plan, type RoleChange } from './plan.js';
import type { Quarantined } from './snapshot.js';

/** Rows after which PostgreSQL's statistics are worth renewing at once instead of when it gets round to it. */
const MANY_CHANGES = 1000;

/** What is written together with a plan. */
export interface Application {
  readonly plan: Plan;
  /** The revision that the plan was made against; null: the first. */
  readonly basedOn: number | null;
  readonly quarantined: readonly Quarantined[];
  /** Somebody has looked at the plan: what it deletes does not count against later ones. */
  readonly confirmed: boolean;
  readonly now: Date;
  readonly asOf: Date;
  readonly fingerprint: string;
  /** Ends the work between two statements: then nothing of it stays. */
  readonly signal: AbortSignal;
}

/** Another process has applied a revision since the plan was made. */
export class OutdatedPlanError extends Error {
  constructor() {
    super('The mirror has changed since the plan was made');
    this.name = 'OutdatedPlanError';
  }
}

/**
 * Applies a plan as one new revision, in the caller's transaction: readers see all of it or nothing.
 * @returns the number of the revision
 * @throws OutdatedPlanError when the mirror is no longer what the plan was made against
 */
export async function applyPlan(manager: EntityManager, application: Application): Promise<number> {
  const { plan, now, signal } = application;
  await manager.query('set local statement_timeout = 0');
  await manager.query('set local idle_in_transaction_session_timeout = 0');
  const [state]: { revision: number | null }[] = await manager.query(
    'select revision from mirror_state for update',
  );
  if ((state?.revision ?? null) !== application.basedOn) throw new OutdatedPlanError();

  const effective = await EffectiveRoles.begin(manager, plan);
  await applyEntries(manager, plan, now, signal);
  signal.throwIfAborted();
  await effective.finish(plan);
  signal.throwIfAborted();
  await sweepPictures(manager, plan);
  await replaceQuarantine(manager, application.quarantined);
  const revision = await insertRevision(manager, application);
  await manager.query(
    `update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = $1, revision = $2, source_fingerprint = $3`,
    [application.asOf, revision, application.fingerprint],
  );
  if (countRows(plan) > MANY_CHANGES) {
    await manager.query('analyze users, groups, memberships, nestings, effective_memberships, pictures');
  }
  return revision;
}

/** Removes pictures that no row points at any more. */
async function sweepPictures(manager: EntityManager, plan: Plan): Promise<void> {
  if (plan.updatedPeople.length + plan.deletedPeople.length === 0) return;
  await manager.query(`
    delete from pictures p
    where not exists (select from users u where u.photo = p.sha256) and not exists (select from users u where u.picture = p.sha256)`);
}

/** Also called where nothing else has changed: why entries are left out may have. */
export async function replaceQuarantine(
  manager: EntityManager,
  quarantined: readonly Quarantined[],
): Promise<void> {
  await manager.query('delete from quarantined_entries');
  await manager.query(
    `insert into quarantined_entries (position, dn, attribute, reason)
     select row_number() over (), dn, attribute, reason
     from unnest($1::text[], $2::text[], $3::text[]) as given (dn, attribute, reason)`,
    [
      quarantined.map(({ dn }) => dn.replaceAll('\0', '\uFFFD')),
      quarantined.map(({ attribute }) => attribute),
      quarantined.map(({ reason }) => reason),
    ],
  );
}

async function insertRevision(
  manager: EntityManager,
  { plan, now, confirmed }: Application,
): Promise<number> {
  const count = (kind: (change: RoleChange) => boolean) => plan.memberships.filter(kind).length;
  const [row]: { id: number }[] = await manager.query(
    `insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated,
       groups_deleted, memberships_added, memberships_changed, memberships_removed, confirmed)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id`,
    [
      now,
      plan.createdPeople.length,
      plan.updatedPeople.length,
      plan.deletedPeople.length,
      plan.createdGroups.length,
      plan.updatedGroups.length,
      plan.deletedGroups.length,
      count(({ before }) => before === null),
      count(({ before, after }) => before !== null && after !== null),
      countRemovals(plan),
      confirmed,
    ],
  );
  if (row === undefined) throw new Error('The revision was not written');
  return row.id;
}

function countRows(plan: Plan): number {
  const { createdPeople, updatedPeople, deletedPeople, createdGroups, memberships } = plan;
  return (
    createdPeople.length +
    updatedPeople.length +
    deletedPeople.length +
    createdGroups.length +
    memberships.length
  );
}
