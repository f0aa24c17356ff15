import { ChangeKind, numberOfKind } from '../changes/change-kind.js';
import { PORTION } from '../changes/retention.js';
import type { Writer } from '../database/writer.js';
import type { Plan } from './plan.js';

type Table = 'users' | 'groups';
type Entry = { readonly value: { readonly uuid: string; readonly id: string } };
/** What all changes of a revision have in common. */
type Stamp = readonly [revision: number, at: Date];

/** An entry as it was before. */
interface Former {
  readonly uuid: string;
  readonly key: number;
  readonly id: string;
  readonly idFolded: string;
}

/** What is about to be forgotten. */
interface Noted {
  readonly table: Table;
  readonly gone: readonly Former[];
  /** Ids of those that get another one, by entryUUID. */
  readonly formerIds: ReadonlyMap<string, string>;
}

/**
 * Writes down what a plan changes (docs/changes.md), in the plan's transaction: begin before its rows are written,
 * finish after, when the effective roles are worked out. The transaction holds the lock on the state of the mirror from
 * its beginning to its end: so ids come into sight in their order, and whoever has seen one has seen all before it.
 */
export class ChangeRecorder {
  private constructor(
    private readonly writer: Writer,
    private readonly plan: Plan,
    private readonly people: Noted,
    private readonly groups: Noted,
  ) {}

  /** Notes what nobody knows afterwards: the ids of those who go or get another one. */
  static async begin(writer: Writer, plan: Plan): Promise<ChangeRecorder> {
    const { deletedPeople, updatedPeople, deletedGroups, updatedGroups } = plan;
    return new ChangeRecorder(
      writer,
      plan,
      await note(writer, 'users', deletedPeople, updatedPeople),
      await note(writer, 'groups', deletedGroups, updatedGroups),
    );
  }

  /** Who comes, then what becomes of those who are there, then of roles, and at last who goes. */
  async finish(revision: number, now: Date): Promise<void> {
    const { plan, people, groups } = this;
    const stamp: Stamp = [revision, await this.findInstant(now)];
    await this.recordEntries(ChangeKind.USER_CREATED, plan.createdPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_CREATED, plan.createdGroups, groups, stamp);
    await this.recordEntries(ChangeKind.USER_UPDATED, plan.updatedPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_UPDATED, plan.updatedGroups, groups, stamp);
    await this.recordRoles(stamp);
    await this.recordDeletions(ChangeKind.USER_DELETED, people, stamp);
    await this.recordDeletions(ChangeKind.GROUP_DELETED, groups, stamp);
    await this.count();
  }

  /** Changes are read by their time too: it never goes back, whatever clocks do. */
  private async findInstant(now: Date): Promise<Date> {
    const [row]: { at: Date }[] = await this.writer.query(
      'select greatest($1::timestamptz, max(at)) as at from changes',
      [now],
    );
    return row?.at ?? now;
  }

  private async recordEntries(
    kind: ChangeKind,
    entries: readonly Entry[],
    { table, formerIds }: Noted,
    stamp: Stamp,
  ): Promise<void> {
    if (entries.length === 0) return;
    const uuids = entries.map(({ value }) => value.uuid);
    const former = uuids.map((uuid) => formerIds.get(uuid) ?? null);
    await this.writer.query(ENTRIES[table], [...stamp, numberOfKind(kind), uuids, former]);
  }

  private async recordRoles(stamp: Stamp): Promise<void> {
    const { people, groups } = this;
    await this.writer.query(ROLES, [
      ...stamp,
      people.gone.map(({ key }) => key),
      people.gone.map(({ id }) => id),
      groups.gone.map(({ key }) => key),
      groups.gone.map(({ id }) => id),
    ]);
  }

  private async recordDeletions(kind: ChangeKind, { table, gone }: Noted, stamp: Stamp): Promise<void> {
    if (gone.length === 0) return;
    await this.writer.query(DELETIONS[table], [
      ...stamp,
      numberOfKind(kind),
      gone.map(({ key }) => key),
      gone.map(({ id }) => id),
      gone.map(({ idFolded }) => idFolded),
    ]);
  }

  private async count(): Promise<void> {
    const { plan } = this;
    const entries = [
      plan.createdPeople,
      plan.createdGroups,
      plan.updatedPeople,
      plan.updatedGroups,
      plan.deletedPeople,
      plan.deletedGroups,
    ];
    await this.writer.query(
      `update mirror_state set change_count = change_count + $1
         + (select count(*) from effective_changes where role_before is distinct from role_after)`,
      [entries.reduce((sum, { length }) => sum + length, 0)],
    );
  }
}

/** Deletes changes that are past, or some of them where they are many, in the caller's transaction. */
export async function pruneChanges(writer: Writer, keptSince: Date): Promise<void> {
  const [row]: { id: string | null }[] = await writer.query(
    `select max(id) as id from (select id from changes where at < $1 order by at, id limit ${PORTION}) past`,
    [keptSince],
  );
  if (row === undefined || row.id === null) return;
  // As whoever applies a revision does: two that delete would wait for each other.
  await writer.query('select from mirror_state for update');
  await writer.query(
    `with gone as (
       delete from changes where id > (select changes_pruned_to from mirror_state) and id <= $1::bigint returning 1)
     update mirror_state set changes_pruned_to = $1::bigint, change_count = change_count - (select count(*) from gone)`,
    [row.id],
  );
}

async function note(
  writer: Writer,
  table: Table,
  deleted: readonly { uuid: string }[],
  updated: readonly Entry[],
): Promise<Noted> {
  if (deleted.length + updated.length === 0) return { table, gone: [], formerIds: new Map() };
  const rows: (Former & { isGone: boolean })[] = await writer.query(
    `select e.entry_uuid as uuid, e.key, e.id, e.id_folded as "idFolded", given.id is null as "isGone"
     from unnest($1::uuid[], $2::text[]) as given (uuid, id) join ${table} e on e.entry_uuid = given.uuid
     where e.id is distinct from given.id`,
    [
      [...deleted.map(({ uuid }) => uuid), ...updated.map(({ value }) => value.uuid)],
      [...deleted.map(() => null), ...updated.map(({ value }) => value.id)],
    ],
  );
  return {
    table,
    gone: rows.filter(({ isGone }) => isGone),
    formerIds: new Map(rows.filter(({ isGone }) => !isGone).map(({ uuid, id }) => [uuid, id])),
  };
}

const ENTRIES = { users: recordEntries('users', 'user'), groups: recordEntries('groups', 'group') };

function recordEntries(table: Table, noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, id_before)
  select $1::integer, $2::timestamptz, $3::smallint, e.key, e.id, given.id_before
  from unnest($4::uuid[], $5::text[]) as given (uuid, id_before) join ${table} e on e.entry_uuid = given.uuid
  order by e.key`;
}

const DELETIONS = { users: recordDeletions('user'), groups: recordDeletions('group') };

function recordDeletions(noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, id_folded)
  select $1::integer, $2::timestamptz, $3::smallint, gone.key, gone.id, gone.id_folded
  from unnest($4::integer[], $5::text[], $6::text[]) as gone (key, id, id_folded) order by gone.key`;
}

/** First those who leave, then those who stay, then those who come. What is only held in another way is no news. */
const ROLES = `
  insert into changes (revision, at, kind, user_key, user_id, group_key, group_id, role_before, role_after)
  select $1::integer, $2::timestamptz,
    case when c.role_after is null then ${numberOfKind(ChangeKind.MEMBER_REMOVED)}
      when c.role_before is null then ${numberOfKind(ChangeKind.MEMBER_ADDED)}
      else ${numberOfKind(ChangeKind.ROLE_CHANGED)} end,
    c.user_key, coalesce(u.id, gone_user.id), c.group_key, coalesce(g.id, gone_group.id), c.role_before, c.role_after
  from effective_changes c
  left join users u on u.key = c.user_key
  left join groups g on g.key = c.group_key
  left join unnest($3::integer[], $4::text[]) as gone_user (key, id) on gone_user.key = c.user_key
  left join unnest($5::integer[], $6::text[]) as gone_group (key, id) on gone_group.key = c.group_key
  where c.role_before is distinct from c.role_after
  order by c.role_after is not null, c.role_before is null, c.group_key, c.user_key`;
