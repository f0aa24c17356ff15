import { setTimeout as sleep } from 'node:timers/promises';
import type { DirectoryConfig } from '../../config/settings/directory.js';
import { MIRROR_INDEXES } from '../../database/migrations/0001-initial.js';
import type { Revision as WrittenRevision } from '../../database/revisions.js';
import { REVISION_CHANNEL } from '../../database/revisions.js';
import { NOW, type Writer } from '../../database/statements/statement.js';
import { fingerprintOf, type Identity } from '../../sources/directory.js';
import { writeChanges } from './write-changes.js';
import { sweepPictures, writeEntries } from './entries.js';
import { countLosses, findReasonToHold, type Losses, type RevisionCounts } from './guard.js';
import { listStagedChanges, noteDiffering, type ListedChanges } from './listed-changes.js';
import { MOST_NAMING, readHash, Staging } from './staging.js';

/** Another process has written a revision since this one was begun, leads, or has another model. */
export class OutdatedRevisionError extends Error {
  constructor() {
    super('Another process has changed the mirror meanwhile');
  }
}

export interface RevisionRequest {
  readonly config: Pick<DirectoryConfig, 'mapping' | 'guard' | 'source' | 'visibility'>;
  /** The number of this process as the leader (see Term); null: a command, which needs none. */
  readonly leader: number | null;
  /** All changes of the directory before this time are in the revision; null: the time of the mirror stays. */
  readonly asOf: Date | null;
  /** Stages what differs. */
  readonly stage: (staging: Staging) => Promise<void>;
  /** Stages the present state of entries, also of those that do not differ if it is forced (Staging.add). */
  readonly stageAgain: (
    staging: Staging,
    identities: readonly Identity[],
    isForced: boolean,
  ) => Promise<void>;
  /** Whether the directory may rewrite references when an entry is renamed. */
  readonly isRewritten?: boolean;
  /** Which entries are read: all, those that a scan finds different, or those of hints. The others must have been read with the same model. */
  readonly reads?: 'all' | 'different' | 'hinted';
  /** The hash of a held revision that an operator confirms. */
  readonly confirm?: string | undefined;
  /** Throws if changes must not be applied that no operator confirms. */
  readonly requireCurrent?: (() => void) | undefined;
  /** Lists the changes, and writes nothing but new pictures. */
  readonly dryRun?: boolean | undefined;
  /** Aborts the work between two statements. */
  readonly signal?: AbortSignal | undefined;
}

export type RevisionOutcome =
  | { readonly kind: 'unchanged' }
  | ({
      readonly kind: 'applied';
      readonly revision: WrittenRevision;
      /** The identities of entries that name a former DN, which no entry has now: the server may rewrite them soon (refint). */
      readonly naming: readonly string[];
    } & Summary)
  | ({ readonly kind: 'blocked'; readonly reason: string; readonly hash: string } & Summary)
  | ({
      readonly kind: 'planned';
      readonly reason: string | null;
      readonly hash: string;
      readonly changes: ListedChanges;
    } & Summary)
  /** The same changes are held already: a command learns why, the leader knows it. */
  | { readonly kind: 'held' }
  /** The hash to confirm is not that of the changes. */
  | { readonly kind: 'refused'; readonly reason: string };

interface Summary {
  readonly counts: RevisionCounts;
}

interface State {
  readonly id: string | null;
  readonly state: string;
  readonly blockedPlan: string | null;
  readonly fingerprint: string | null;
  readonly leader: string;
  readonly now: Date;
}

const READ_STATE = `
  select s.revision_uuid as id, s.state, s.blocked_plan as "blockedPlan", s.source_fingerprint as fingerprint, s.leader, ${NOW} as now
  from mirror_state s`;

/**
 * Writes one revision: stages, compares, checks and applies, in one transaction (docs/adr/0016). Readers see all of it or nothing.
 * @param writer a session of its own
 * @throws OutdatedRevisionError if another process has written a revision since this one was begun, or leads
 */
export async function writeRevision(writer: Writer, request: RevisionRequest): Promise<RevisionOutcome> {
  await writer.query('begin');
  try {
    const outcome = await new Revision(writer, request).write();
    const isKept = outcome.kind === 'applied' || outcome.kind === 'unchanged';
    await writer.query(isKept ? 'commit' : 'rollback');
    if (outcome.kind === 'blocked') await markBlocked(writer, request.leader, outcome);
    return outcome;
  } catch (error) {
    // If the connection is lost, the server rolls back.
    await writer.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function markBlocked(
  writer: Writer,
  leader: number | null,
  { reason, hash }: { readonly reason: string; readonly hash: string },
): Promise<void> {
  await writer.query(
    `update mirror_state set state = 'BLOCKED', reason = $1, blocked_plan = $2 where $3::bigint is null or leader = $3`,
    [reason, hash, leader],
  );
}

/** Milliseconds before each attempt to read entries after one that they name was renamed. */
const REWRITTEN_MS = [0, 50, 100, 200, 400];
/** Number of groups for which a revision waits. More are read again later. */
const MOST_AWAITED = 20;

class Revision {
  private readonly fingerprint: string;

  constructor(
    private readonly writer: Writer,
    private readonly request: RevisionRequest,
  ) {
    this.fingerprint = fingerprintOf(request.config as DirectoryConfig);
  }

  async write(): Promise<RevisionOutcome> {
    const { writer, request } = this;
    const { confirm, dryRun = false, signal } = request;
    const begun = await this.readState('');
    const staging = await this.stage(begun.id === null);
    signal?.throwIfAborted();
    const state = await this.readState(' for update of s');
    this.requireSame(begun, state);
    // Rows of the mirror are locked after its state and the end of previews, so that no two processes wait for each other.
    await writer.query(`
      lock table revisions in row exclusive mode;
      update entries e set stamp = r.stamp from restamped r where e.key = r.key`);
    const isFirst = state.id === null;
    const isPlain = confirm === undefined && !dryRun;
    const isEmpty = (await staging.count()) === 0;
    const isSameModel = state.fingerprint === this.fingerprint;
    if (isEmpty && !isFirst && isPlain) {
      await this.writeState(null, 0, state, { users: 0, groups: 0 });
      return { kind: 'unchanged' };
    }
    const hash = isFirst && isPlain ? '' : await readHash(writer);
    const decided = this.decide(state, hash, isEmpty);
    if (decided !== null) return decided;
    const losses = isFirst ? {} : await countLosses(writer, request.config.mapping, isSameModel);
    if (dryRun) await noteDiffering(writer, request.config.mapping);
    await writeEntries({ writer, mapping: request.config.mapping, isFirst, now: state.now });
    signal?.throwIfAborted();
    return this.conclude(state, { isFirst, losses, hash, isConfirmed: confirm !== undefined });
  }

  private async stage(isFirst: boolean): Promise<Staging> {
    const staging = await Staging.begin(this.writer, isFirst);
    await this.request.stage(staging);
    await this.addClaimants(staging);
    if (this.request.isRewritten === true) await this.addNaming(staging);
    await staging.settle();
    return staging;
  }

  private decide(state: State, hash: string, isEmpty: boolean): RevisionOutcome | null {
    const { confirm, leader } = this.request;
    if (confirm !== undefined) return confirm === hash ? null : refuse(isEmpty, hash);
    return leader !== null && hash !== '' && state.blockedPlan === hash ? { kind: 'held' } : null;
  }

  /** Entries that claim the id or the DN of another one are read again: one of the two may have changed since. */
  private async addClaimants(staging: Staging): Promise<void> {
    const known = new Set<string>();
    for (;;) {
      const claimants = (await staging.match()).filter(({ uuid }) => !known.has(uuid));
      if (claimants.length === 0) return;
      for (const { uuid } of claimants) known.add(uuid);
      await this.request.stageAgain(staging, claimants, true);
    }
  }

  /** Entries that name the former DN of a renamed entry are read again: the server may have rewritten them without a sign (refint). */
  private async addNaming(staging: Staging): Promise<void> {
    for (const pause of REWRITTEN_MS) {
      const naming = await staging.findNaming();
      if (naming.length === 0 || (pause > 0 && naming.length > MOST_AWAITED)) return;
      await sleep(pause, undefined, { signal: this.request.signal });
      await staging.forget(naming.map(({ uuid }) => uuid));
      await this.request.stageAgain(staging, naming, false);
      await this.addClaimants(staging);
    }
  }

  private async readState(lock: string): Promise<State> {
    const [state] = await this.writer.query<State[]>(`${READ_STATE}${lock}`);
    if (state === undefined) throw new Error('The mirror has no state');
    return state;
  }

  private requireSame(begun: State, state: State): void {
    const { leader, reads = 'all' } = this.request;
    const isLeading = leader === null || Number(state.leader) === leader;
    const isOfOtherModel = reads !== 'all' && state.fingerprint !== this.fingerprint;
    if (state.id !== begun.id || !isLeading || isOfOtherModel) throw new OutdatedRevisionError();
  }

  private async conclude(
    state: State,
    given: { isFirst: boolean; losses: Losses; hash: string; isConfirmed: boolean },
  ): Promise<RevisionOutcome> {
    const { writer, request } = this;
    const { mapping, guard } = request.config;
    const { isFirst, losses, isConfirmed } = given;
    const counts = await readCounts(writer);
    const reason = await findReasonToHold(writer, counts, losses, { ...guard, mapping, isFirst });
    // Nothing is deleted in a first revision, whose hash is rarely needed.
    const hash = given.hash === '' && reason !== null ? await readHash(writer) : given.hash;
    if (request.dryRun === true)
      return { kind: 'planned', reason, hash, counts, changes: await listStagedChanges(writer) };
    if (!isFirst && !isConfirmed && !changesNothing(counts)) request.requireCurrent?.();
    if (reason !== null && !isConfirmed) return { kind: 'blocked', reason, hash, counts };
    const difference = {
      users: counts.users.created - counts.users.deleted,
      groups: counts.groups.created - counts.groups.deleted,
    };
    if (!isFirst && changesNothing(counts)) {
      await this.writeState(null, 0, state, difference);
      return { kind: 'unchanged' };
    }
    if (isFirst) for (const statement of MIRROR_INDEXES) await writer.query(statement);
    await sweepPictures(writer, mapping, request.reads !== 'hinted');
    // What has a reason to be held is here only if an operator has confirmed it.
    const number = await insertRevision(writer, state.now, counts, losses, reason !== null);
    // Clients begin with a listing, so the log need not repeat the whole directory.
    const changes = isFirst ? 0 : await writeChanges(writer, number);
    const revision = await this.writeState(number, changes, state, difference);
    return { kind: 'applied', revision, counts, naming: await readNaming(writer) };
  }

  /** Writes the state of the mirror, and announces a revision to all processes when the transaction commits. */
  private async writeState(
    number: number | null,
    changes: number,
    state: State,
    difference: { readonly users: number; readonly groups: number },
  ): Promise<WrittenRevision> {
    const { asOf } = this.request;
    const [row] = await this.writer.query<WrittenRevision[]>(
      `with state as (
         update mirror_state set state = 'IDLE', reason = null, blocked_plan = null, as_of = coalesce($2::timestamptz, as_of),
           revision = coalesce($1::integer, revision),
           revision_uuid = coalesce((select r.uuid from revisions r where r.id = $1), revision_uuid),
           change_count = change_count + $3::integer, source_fingerprint = $4,
           user_count = user_count + $5::integer, group_count = group_count + $6::integer
         returning revision as number, revision_uuid as id)
       select number, id, case when $1 is not null then pg_notify('${REVISION_CHANNEL}', id::text) end from state`,
      [number, asOf, changes, this.fingerprint, difference.users, difference.groups],
    );
    if (row === undefined) throw new Error('The revision was not written');
    return { number: row.number, id: row.id };
  }
}

function refuse(isEmpty: boolean, hash: string): RevisionOutcome {
  return {
    kind: 'refused',
    reason: isEmpty
      ? 'There is nothing left to confirm: the mirror equals the directory'
      : `These are not the changes to confirm: their hash is ${hash} now`,
  };
}

export function changesNothing({ users, groups, memberships, nestings }: RevisionCounts): boolean {
  const numbers = [users, groups, memberships, nestings].flatMap((each) => Object.values(each));
  return numbers.every((each) => each === 0);
}

async function insertRevision(
  writer: Writer,
  now: Date,
  { users, groups, memberships }: RevisionCounts,
  losses: Losses,
  confirmed: boolean,
): Promise<number> {
  const [row] = await writer.query<{ id: number }[]>(
    `insert into revisions (applied_at, users_deleted, groups_deleted, memberships_removed, confirmed, attributes_lost)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [now, users.deleted, groups.deleted, memberships.removed, confirmed, JSON.stringify(losses)],
  );
  if (row === undefined) throw new Error('The revision was not written');
  return row.id;
}

async function readCounts(writer: Writer): Promise<RevisionCounts> {
  const entries = (kind: string) => `json_build_object(
    'created', (select count(*) from staged s where s.kind = '${kind}' and s.reason is null and s.is_changed
      and not exists (select from former f where f.key = s.key)),
    'updated', (select count(*) from staged s join former f on f.key = s.key where s.kind = '${kind}' and s.reason is null and s.is_changed),
    'deleted', (select count(*) from former f where f.kind = '${kind}' and f.is_gone))`;
  const isGone = (key: string) => `exists (select from former f where f.key = c.${key} and f.is_gone)`;
  const [row] = await writer.query<{ counts: RevisionCounts }[]>(`
    select json_build_object('users', ${entries('person')}, 'groups', ${entries('group')},
      'memberships', (select json_build_object(
        'created', count(*) filter (where c.direct_before is null and c.direct_role is not null),
        'updated', count(*) filter (where c.direct_before <> c.direct_role),
        'deleted', count(*) filter (where c.direct_before is not null and c.direct_role is null),
        'removed', count(*) filter (where c.direct_before is not null and c.direct_role is null
          and not ${isGone('user_key')} and not ${isGone('group_key')}),
        'inherited', count(*)) from effective_changes c),
      'nestings', (select json_build_object(
        'created', count(*) filter (where change = 'created'), 'updated', count(*) filter (where change = 'updated'),
        'deleted', count(*) filter (where change = 'deleted')) from changed_nestings)) as counts`);
  if (row === undefined) throw new Error('The changes were not counted');
  return row.counts;
}

async function readNaming(writer: Writer): Promise<string[]> {
  const rows = await writer.query<{ uuid: string }[]>(
    `select distinct e.uuid from moved_names m join "references" r on r.target = m.name
       join entries e on e.key = r.from_key
     where not exists (select from names n where n.name = m.name) limit ${MOST_NAMING}`,
  );
  return rows.map(({ uuid }) => uuid);
}
