import { ChangeKind, numberOfKind } from '../../changes/change.model.js';
import { foldId } from '../../common/fold.js';
import type { Writer } from '../../database/statements/statement.js';
import { orderRenames } from '../plan/order-renames.js';
import type { Plan } from '../plan/plan.js';
import { stampChanges } from './prune-changes.js';

type Table = 'users' | 'groups';
type Entry = { readonly value: { readonly uuid: string; readonly id: string } };
type Stamp = readonly [revision: number, at: Date];

interface Former {
  readonly uuid: string;
  readonly key: number;
  readonly id: string;
  readonly idFolded: string;
}

/** Values that cannot be read any more after the rows are written. */
interface Noted {
  readonly table: Table;
  readonly gone: readonly Former[];
  readonly renamed: readonly Former[];
}

/**
 * Records the changes of a plan (docs/clients.md), in its transaction: `begin` before the rows are written,
 * `finish` after the effective roles are computed. The transaction holds the lock on the state of the mirror
 * throughout, so change ids become visible in their order.
 */
export class ChangeRecorder {
  private constructor(
    private readonly writer: Writer,
    private readonly plan: Plan,
    private readonly people: Noted,
    private readonly groups: Noted,
  ) {}

  /** Reads the ids of entries that are deleted or whose id changes, because they are not known afterwards. */
  static async begin(writer: Writer, plan: Plan): Promise<ChangeRecorder> {
    const { deletedPeople, updatedPeople, deletedGroups, updatedGroups } = plan;
    return new ChangeRecorder(
      writer,
      plan,
      await note(writer, 'users', deletedPeople, updatedPeople),
      await note(writer, 'groups', deletedGroups, updatedGroups),
    );
  }

  /**
   * Records changes in an order in which a client can apply them one by one. No entry receives an id before
   * the previous holder has released it, unless entries exchange ids in a cycle. Removals come first, with
   * the previous ids.
   */
  async finish(revision: number): Promise<void> {
    const { plan, people, groups } = this;
    const stamp: Stamp = [revision, await stampChanges(this.writer)];
    await this.recordRemovals(stamp);
    await this.recordDeletions(ChangeKind.USER_DELETED, people, stamp);
    await this.recordDeletions(ChangeKind.GROUP_DELETED, groups, stamp);
    await this.recordEntries(ChangeKind.USER_UPDATED, plan.updatedPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_UPDATED, plan.updatedGroups, groups, stamp);
    await this.recordEntries(ChangeKind.USER_CREATED, plan.createdPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_CREATED, plan.createdGroups, groups, stamp);
    await this.writer.query(ROLES, [...stamp]);
    await this.count();
  }

  private async recordEntries(
    kind: ChangeKind,
    entries: readonly Entry[],
    { table, renamed }: Noted,
    stamp: Stamp,
  ): Promise<void> {
    if (entries.length === 0) return;
    const uuids = entries.map(({ value }) => value.uuid);
    const before = new Map(renamed.map((former) => [former.uuid, former]));
    const renames = entries.flatMap(({ value: { uuid, id } }) => {
      const former = before.get(uuid);
      return former === undefined ? [] : [{ uuid, key: former.key, from: former.idFolded, to: foldId(id) }];
    });
    const ordered = orderRenames(renames.sort((left, right) => left.key - right.key));
    const places = new Map(ordered.map(({ uuid }, place) => [uuid, place]));
    await this.writer.query(ENTRIES[table], [
      ...stamp,
      numberOfKind(kind),
      uuids,
      uuids.map((uuid) => before.get(uuid)?.id ?? null),
      uuids.map((uuid) => places.get(uuid) ?? ordered.length),
    ]);
  }

  private async recordRemovals(stamp: Stamp): Promise<void> {
    const [people, groups] = [this.people, this.groups].map(({ gone, renamed }) => [...gone, ...renamed]);
    await this.writer.query(REMOVALS, [...stamp, ...columnsOf(people ?? []), ...columnsOf(groups ?? [])]);
  }

  private async recordDeletions(kind: ChangeKind, { table, gone }: Noted, stamp: Stamp): Promise<void> {
    if (gone.length === 0) return;
    await this.writer.query(DELETIONS[table], [
      ...stamp,
      numberOfKind(kind),
      ...columnsOf(gone),
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

function columnsOf(entries: readonly Former[]): unknown[] {
  return [entries.map(({ key }) => key), entries.map(({ id }) => id), entries.map(({ uuid }) => uuid)];
}

async function note(
  writer: Writer,
  table: Table,
  deleted: readonly { uuid: string }[],
  updated: readonly Entry[],
): Promise<Noted> {
  if (deleted.length + updated.length === 0) return { table, gone: [], renamed: [] };
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
    renamed: rows.filter(({ isGone }) => !isGone),
  };
}

const ENTRIES = { users: recordEntries('users', 'user'), groups: recordEntries('groups', 'group') };

function recordEntries(table: Table, noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, id_before)
  select $1::integer, $2::timestamptz, $3::smallint, e.key, e.id, e.entry_uuid, given.id_before
  from unnest($4::uuid[], $5::text[], $6::integer[]) as given (uuid, id_before, place)
  join ${table} e on e.entry_uuid = given.uuid
  order by given.place, e.key`;
}

const DELETIONS = { users: recordDeletions('user'), groups: recordDeletions('group') };

function recordDeletions(noun: string): string {
  return `
  insert into changes (revision, at, kind, ${noun}_key, ${noun}_id, ${noun}_uuid, id_folded)
  select $1::integer, $2::timestamptz, $3::smallint, gone.key, gone.id, gone.uuid, gone.id_folded
  from unnest($4::integer[], $5::text[], $6::uuid[], $7::text[]) as gone (key, id, uuid, id_folded) order by gone.key`;
}

const ROLE_COLUMNS = `
    revision, at, kind, user_key, user_id, user_uuid, group_key, group_id, group_uuid, role_before, role_after`;

/** Members who leave a group, with the previous ids. */
const REMOVALS = `
  insert into changes (${ROLE_COLUMNS})
  select $1::integer, $2::timestamptz, ${numberOfKind(ChangeKind.MEMBER_REMOVED)},
    c.user_key, coalesce(former_user.id, u.id), coalesce(former_user.uuid, u.entry_uuid),
    c.group_key, coalesce(former_group.id, g.id), coalesce(former_group.uuid, g.entry_uuid), c.role_before, c.role_after
  from effective_changes c
  left join users u on u.key = c.user_key
  left join groups g on g.key = c.group_key
  left join unnest($3::integer[], $4::text[], $5::uuid[]) as former_user (key, id, uuid) on former_user.key = c.user_key
  left join unnest($6::integer[], $7::text[], $8::uuid[]) as former_group (key, id, uuid)
    on former_group.key = c.group_key
  where c.role_before is not null and c.role_after is null
  order by c.group_key, c.user_key`;

/**
 * First changed roles, then new members. A role that is only inherited in a different way is not recorded.
 */
const ROLES = `
  insert into changes (${ROLE_COLUMNS})
  select $1::integer, $2::timestamptz,
    case when c.role_before is null then ${numberOfKind(ChangeKind.MEMBER_ADDED)}
      else ${numberOfKind(ChangeKind.ROLE_CHANGED)} end,
    c.user_key, u.id, u.entry_uuid, c.group_key, g.id, g.entry_uuid, c.role_before, c.role_after
  from effective_changes c
  join users u on u.key = c.user_key
  join groups g on g.key = c.group_key
  where c.role_after is not null and c.role_before is distinct from c.role_after
  order by c.role_before is null, c.group_key, c.user_key`;
