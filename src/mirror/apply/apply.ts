import type { EntityManager } from 'typeorm';
import type { Announcement } from '../../database/revisions/announcement.js';
import { IS_COMPLETE } from '../../database/statements/statement.js';
import { EMPTY_PLAN, type PlanSummary } from '../plan/plan.js';
import type { Application } from './application.js';
import { applyEntries } from './apply-entries.js';
import { applyReferences } from './apply-references.js';
import { BareTables } from './bare-tables.js';
import { selectChanged } from './changed-entries.js';
import { EffectiveRoles } from './effective-roles.js';
import { isLarge, readFormer, withoutRespelled } from './former-entries.js';
import { OutdatedPlanError } from './outdated-plan.error.js';
import { deleteExpired, followClock, LOG_STATE, type LogState } from './prune-changes.js';
import { hideEarlierChanges } from './hide-earlier-changes.js';
import { selectRecorded } from './record-changes.js';
import { ReferringEntries } from './referring-entries.js';
import { sweepPictures } from './sweep-pictures.js';
import { writeRevision } from './write-revision.js';
import { announceRevision, confirmState } from './write-state.js';

/**
 * Number of changed rows, and their share of all, above which PostgreSQL's statistics are updated at once, not by autovacuum. Reading
 * samples of all tables takes a second or more, during which the revision is not visible.
 */
const MANY_CHANGES = 1000;
const LARGE_SHARE = 0.1;

/** Number of rows of a first revision above which indexes are created after the rows. */
const LARGE_FIRST = 20_000;

/**
 * Applies a plan as one new revision, in the caller's transaction. Readers see all of it or nothing.
 * @returns the new revision
 * @throws OutdatedPlanError if the mirror has changed since the plan was made
 */
export async function applyPlan(manager: EntityManager, application: Application): Promise<Announcement> {
  const { bulk, mapping, signal, basedOn } = application;
  const { now, expired } = await begin(manager, application);
  // Clients begin with a listing, so the log need not repeat the whole directory.
  const plan = basedOn === null ? EMPTY_PLAN : application.plan;
  const knowsChanges = basedOn !== null && bulk?.groups == null && !isLarge(plan);
  const former = await readFormer(manager, plan, {
    mapping,
    withFound: knowsChanges,
    withPictures: application.covers !== null,
  });
  const logged = withoutRespelled(plan, former);
  const referring = await ReferringEntries.begin(manager, logged, mapping);
  const roles = await writeRows(manager, application, now);
  signal.throwIfAborted();
  await sweepPictures(manager, application, former);
  const effects = {
    former,
    referring: await referring.finish(),
    roles: roles.changes,
    hasRoles: basedOn !== null && roles.hasChanges,
  };
  await hideEarlierChanges(manager, former);
  const revision = await writeRevision(manager, application, now, {
    changed: (values) =>
      knowsChanges ? selectChanged(values, plan, former, roles.changes, application.fingerprint) : null,
    recorded: (values) => selectRecorded(values, logged, effects),
  });
  signal.throwIfAborted();
  await deleteExpired(manager, expired);
  const announcement = await announceRevision(manager, application, revision);
  await analyzeAfter(manager, countRows(application.summary));
  return announcement;
}

/** Writes all rows but those about the revision. */
async function writeRows(
  manager: EntityManager,
  { plan, bulk, summary, mapping, basedOn, signal }: Application,
  now: Date,
): Promise<EffectiveRoles> {
  const roles = await EffectiveRoles.begin(manager, plan, mapping);
  const bare = basedOn === null && countRows(summary) > LARGE_FIRST ? await BareTables.begin(manager) : null;
  if (bulk === null) await applyEntries(manager, plan, mapping, now, signal);
  else await bulk.applyEntries(now, signal);
  signal.throwIfAborted();
  await roles.finish(bulk?.groups ?? null);
  if (bulk !== null) await roles.carry();
  await bare?.finish();
  return roles;
}

/**
 * Stores the invisible part of a plan without visible changes, in the caller's transaction, without a
 * revision.
 * @throws OutdatedPlanError as applyPlan
 */
export async function applyUnseen(manager: EntityManager, application: Application): Promise<void> {
  const { expired } = await begin(manager, application);
  const { plan, bulk } = application;
  if (bulk === null) await applyReferences(manager, plan);
  else await bulk.applyReferences();
  await deleteExpired(manager, expired);
  await confirmState(manager, application);
}

async function begin(
  manager: EntityManager,
  { basedOn, changesDays }: Application,
): Promise<Pick<LogState, 'now' | 'expired'>> {
  const [state]: (LogState & { id: string | null })[] = await manager.query(BEGIN, [changesDays]);
  if (state === undefined || state.id !== basedOn) throw new OutdatedPlanError();
  const { id, ...log } = state;
  return { now: log.now, expired: await followClock(manager, log, changesDays) };
}

const BEGIN = `select s.revision_uuid as id, ${LOG_STATE} from mirror_state s where ${IS_COMPLETE} for update of s`;

async function analyzeAfter(manager: EntityManager, changed: number): Promise<void> {
  if (changed <= MANY_CHANGES) return;
  // Without statistics the number is negative.
  const [all]: { rows: number }[] = await manager.query(
    `select sum(greatest(reltuples, 0))::float8 as rows from pg_class where oid = any ('{users,groups,memberships}'::regclass[])`,
  );
  if (changed <= (all?.rows ?? 0) * LARGE_SHARE) return;
  await manager.query(
    'analyze users, groups, memberships, nestings, effective_memberships, pictures, changes, user_references, group_references',
  );
}

function countRows({ counts: { people, groups, memberships } }: PlanSummary): number {
  return totalOf(people) + groups.created + totalOf(memberships);
}

function totalOf({ created, updated, deleted }: PlanSummary['counts']['people']): number {
  return created + updated + deleted;
}
