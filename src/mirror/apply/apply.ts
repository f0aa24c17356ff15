import type { EntityManager } from 'typeorm';
import { pictureFields } from '../../common/field.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { Revision } from '../../database/revisions/revision.js';
import { REVISION_CHANNEL } from '../../database/revisions/revisions.js';
import { IS_COMPLETE } from '../../database/statements/statement.js';
import { HIDES_CHANGES, HIDES_SOMETHING } from '../../database/visibility/visible-tables.js';
import { applyEntries, applyReferences } from './apply-entries.js';
import { EffectiveRoles } from './effective-roles.js';
import { countRemovals, type Plan, type RoleChange } from '../plan/plan.js';
import { pruneChanges } from './prune-changes.js';
import { ChangeRecorder } from './record-changes.js';
import type { Quarantined } from '../map/snapshot.js';
import type { Identities } from '../plan/stored.js';

/** Number of changed rows above which PostgreSQL's statistics are updated at once, not by autovacuum. */
const MANY_CHANGES = 1000;

export interface Application {
  readonly plan: Plan;
  readonly mapping: DirectoryMapping;
  /** The id of the revision that the plan is based on, or null if there was none. */
  readonly basedOn: string | null;
  /** The entryUUIDs of the entries that were read for the plan, or null if the whole source was read. */
  readonly covers: Identities | null;
  /** The omitted entries and attributes among those read. */
  readonly quarantined: readonly Quarantined[];
  /** An operator has confirmed the plan. Its deletions do not count against later plans. */
  readonly confirmed: boolean;
  readonly now: Date;
  readonly asOf: Date;
  readonly changesDays: number;
  readonly fingerprint: string;
  /** The position from which the source can be followed, in the source's own format. */
  readonly position: string | null;
  /** Aborts the work between two statements. The transaction is then rolled back. */
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
 * Applies a plan as one new revision, in the caller's transaction. Readers see all of it or nothing.
 * @returns the new revision
 * @throws OutdatedPlanError if the mirror has changed since the plan was made
 */
export async function applyPlan(manager: EntityManager, application: Application): Promise<Revision> {
  const { plan, mapping, now, signal } = application;
  await begin(manager, application);
  const pictures = await readPictures(manager, application);
  const changes = await ChangeRecorder.begin(manager, plan, mapping);
  const effective = await EffectiveRoles.begin(manager, plan, mapping);
  await applyEntries(manager, plan, mapping, now, signal);
  signal.throwIfAborted();
  await effective.finish(plan);
  signal.throwIfAborted();
  await sweepPictures(manager, application, pictures);
  await writeQuarantine(manager, application);
  const revision = await insertRevision(manager, application);
  await changes.finish(revision.number);
  signal.throwIfAborted();
  await pruneChanges(manager, application.changesDays);
  await writeState(manager, application, revision.number);
  await manager.query('select pg_notify($1, $2)', [REVISION_CHANNEL, String(revision.number)]);
  if (countRows(plan) > MANY_CHANGES) {
    await manager.query(
      'analyze users, groups, memberships, nestings, effective_memberships, pictures, changes, user_references, group_references',
    );
  }
  return revision;
}

/**
 * Stores the invisible part of a plan without visible changes, in the caller's transaction, without a
 * revision.
 * @throws OutdatedPlanError as applyPlan
 */
export async function applyUnseen(manager: EntityManager, application: Application): Promise<void> {
  await begin(manager, application);
  await applyReferences(manager, application.plan);
  await writeQuarantine(manager, application);
  await pruneChanges(manager, application.changesDays);
  await writeState(manager, application, null);
}

async function begin(manager: EntityManager, { basedOn }: Application): Promise<void> {
  const [state]: { id: string | null }[] = await manager.query(
    `select revision_uuid as id from mirror_state where ${IS_COMPLETE} for update`,
  );
  if ((state?.id ?? null) !== basedOn) throw new OutdatedPlanError();
}

/** @param revision the number of the new revision, or null if the revision stays the same */
async function writeState(
  manager: EntityManager,
  { plan, asOf, fingerprint, position }: Application,
  revision: number | null,
): Promise<void> {
  await manager.query(
    `update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = $1, revision = coalesce($2, revision),
       source_fingerprint = $3, source_position = $4, user_count = user_count + $5, group_count = group_count + $6,
       hides = ${HIDES_SOMETHING}, hides_in_log = ${HIDES_CHANGES}`,
    [
      asOf,
      revision,
      fingerprint,
      position,
      plan.createdPeople.length - plan.deletedPeople.length,
      plan.createdGroups.length - plan.deletedGroups.length,
    ],
  );
}

function pictureColumns({ users }: DirectoryMapping): string[] {
  return pictureFields(users.fields).map(({ name, column }) => column ?? name);
}

/**
 * Returns the pictures that may be unused afterwards, or null for all pictures. It must be called before rows
 * are written, because the previous references are not known afterwards.
 */
async function readPictures(
  manager: EntityManager,
  { plan, covers, mapping }: Application,
): Promise<readonly Buffer[] | null> {
  if (covers === null) return null;
  const updated = plan.updatedPeople.map(({ value }) => value.uuid);
  const uuids = [...updated, ...plan.deletedPeople.map(({ uuid }) => uuid)];
  if (uuids.length === 0) return [];
  const rows: { pictures: (Buffer | null)[] }[] = await manager.query(
    `select array[${pictureColumns(mapping).join(', ')}] as pictures from users where entry_uuid = any ($1::uuid[])`,
    [uuids],
  );
  return rows.flatMap(({ pictures }) => pictures).filter((each) => each !== null);
}

/** Deletes those of the pictures, or of all pictures, that no row references any more. */
async function sweepPictures(
  manager: EntityManager,
  { mapping }: Application,
  candidates: readonly Buffer[] | null,
): Promise<void> {
  if (candidates?.length === 0) return;
  const unused = pictureColumns(mapping).map(
    (column) => `not exists (select from users u where u.${column} = p.sha256)`,
  );
  await manager.query(
    `delete from pictures p where ($1::bytea[] is null or p.sha256 = any ($1)) and ${unused.join(' and ')}`,
    [candidates],
  );
}

async function writeQuarantine(manager: EntityManager, { covers, quarantined }: Application): Promise<void> {
  if (covers === null) await manager.query('delete from quarantined_entries');
  else {
    await manager.query(
      `delete from quarantined_entries
       where (kind = 'person' and entry_uuid = any ($1::uuid[])) or (kind = 'group' and entry_uuid = any ($2::uuid[]))`,
      [covers.people, covers.groups],
    );
  }
  if (quarantined.length === 0) return;
  await manager.query(
    `insert into quarantined_entries (position, kind, dn, entry_uuid, id_folded, attribute, reason)
     select (select coalesce(max(position), 0) from quarantined_entries) + row_number() over (), given.*
     from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[]) as given`,
    [
      quarantined.map(({ kind }) => kind),
      quarantined.map(({ dn }) => dn.replaceAll('\0', '\uFFFD')),
      quarantined.map(({ uuid }) => uuid),
      quarantined.map(({ id }) => id),
      quarantined.map(({ attribute }) => attribute),
      quarantined.map(({ reason }) => reason),
    ],
  );
}

async function insertRevision(
  manager: EntityManager,
  { plan, now, confirmed }: Application,
): Promise<Revision> {
  const count = (kind: (change: RoleChange) => boolean) => plan.memberships.filter(kind).length;
  const [row]: Revision[] = await manager.query(
    `insert into revisions (applied_at, users_created, users_updated, users_deleted, groups_created, groups_updated,
       groups_deleted, memberships_added, memberships_changed, memberships_removed, confirmed)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id as number, uuid as id`,
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
  return row;
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
