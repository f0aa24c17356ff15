import { ChangeKind, numberOfKind } from '../../changes/change.model.js';
import { arraysOf } from '../../common/chunks.js';
import { foldId } from '../../common/identity.js';
import type { AudienceLevel } from '../../config/settings/visibility.js';
import type { Writer } from '../../database/statements/statement.js';
import { DELETIONS, ENTRIES, HIDDEN, REMOVALS, REVEALED, ROLES, type Table } from './change-statements.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { type Referring, ReferringEntries } from './referring-entries.js';
import type { Plan } from '../plan/plan.js';
import { orderRenames } from './order-renames.js';
import { stampChanges } from './prune-changes.js';

type Entry = {
  readonly value: { readonly uuid: string; readonly id: string; readonly visibleTo?: AudienceLevel | null };
};
type Stamp = readonly [revision: number, at: Date];

interface Former {
  readonly uuid: string;
  readonly key: number;
  readonly id: string;
  readonly idFolded: string;
  /** The audience. 0: everyone. */
  readonly visibleTo: number;
  /** The audience of the members of a group, otherwise 0. */
  readonly membersVisibleTo: number;
}

/** Values that cannot be read any more after the rows are written. */
interface Noted {
  readonly table: Table;
  readonly gone: readonly Former[];
  readonly renamed: readonly Former[];
  /** Entries whose audience changes, as they were before. */
  readonly revealedOrHidden: readonly Former[];
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
    private readonly referring: ReferringEntries,
  ) {}

  /** Reads the ids of entries that are deleted or whose id changes, because they are not known afterwards. */
  static async begin(writer: Writer, plan: Plan, mapping: DirectoryMapping): Promise<ChangeRecorder> {
    const { deletedPeople, updatedPeople, deletedGroups, updatedGroups } = plan;
    return new ChangeRecorder(
      writer,
      plan,
      await note(writer, 'users', deletedPeople, updatedPeople),
      await note(writer, 'groups', deletedGroups, updatedGroups),
      await ReferringEntries.begin(writer, plan, mapping),
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
    await this.recordHidden(ChangeKind.USER_DELETED, people, stamp);
    await this.recordHidden(ChangeKind.GROUP_DELETED, groups, stamp);
    await this.recordEntries(ChangeKind.USER_UPDATED, plan.updatedPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_UPDATED, plan.updatedGroups, groups, stamp);
    await this.recordRevealed(ChangeKind.USER_CREATED, people, stamp);
    await this.recordRevealed(ChangeKind.GROUP_CREATED, groups, stamp);
    await this.recordEntries(ChangeKind.USER_CREATED, plan.createdPeople, people, stamp);
    await this.recordEntries(ChangeKind.GROUP_CREATED, plan.createdGroups, groups, stamp);
    const referring = await this.referring.finish();
    await this.recordReferring(ChangeKind.USER_UPDATED, 'users', referring.person, stamp);
    await this.recordReferring(ChangeKind.GROUP_UPDATED, 'groups', referring.group, stamp);
    await this.writer.query(ROLES, [...stamp]);
    await this.count(referring.person.length + referring.group.length);
  }

  private async recordEntries(
    kind: ChangeKind,
    entries: readonly Entry[],
    { table, renamed, revealedOrHidden }: Noted,
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
    const levels = new Map(revealedOrHidden.map(({ uuid, visibleTo }) => [uuid, visibleTo]));
    await this.writer.query(ENTRIES[table], [
      ...stamp,
      numberOfKind(kind),
      uuids,
      uuids.map((uuid) => before.get(uuid)?.id ?? null),
      uuids.map((uuid) => places.get(uuid) ?? ordered.length),
      uuids.map((uuid) => levels.get(uuid) ?? 0),
    ]);
  }

  /** For those who are in the audience no more, an entry that becomes hidden is deleted. */
  private async recordHidden(
    kind: ChangeKind,
    { table, revealedOrHidden }: Noted,
    stamp: Stamp,
  ): Promise<void> {
    if (revealedOrHidden.length === 0) return;
    await this.writer.query(HIDDEN[table], [
      ...stamp,
      numberOfKind(kind),
      ...arraysOf(revealedOrHidden, 'key', 'id', 'uuid', 'idFolded', 'visibleTo'),
    ]);
  }

  /** For those who were not in the audience before, an entry that becomes visible is created. */
  private async recordRevealed(
    kind: ChangeKind,
    { table, revealedOrHidden }: Noted,
    stamp: Stamp,
  ): Promise<void> {
    if (revealedOrHidden.length === 0) return;
    await this.writer.query(REVEALED[table], [
      ...stamp,
      numberOfKind(kind),
      ...arraysOf(revealedOrHidden, 'key', 'visibleTo'),
    ]);
  }

  private async recordRemovals(stamp: Stamp): Promise<void> {
    const [people, groups] = [this.people, this.groups].map(({ gone, renamed }) => [...gone, ...renamed]);
    const ofUsers = people ?? [];
    const ofGroups = groups ?? [];
    await this.writer.query(REMOVALS, [
      ...stamp,
      ...arraysOf(ofUsers, 'key', 'id', 'uuid'),
      ...arraysOf(ofGroups, 'key', 'id', 'uuid'),
      ...arraysOf(ofUsers, 'visibleTo'),
      ...arraysOf(ofGroups, 'visibleTo', 'membersVisibleTo'),
    ]);
  }

  private async recordDeletions(kind: ChangeKind, { table, gone }: Noted, stamp: Stamp): Promise<void> {
    if (gone.length === 0) return;
    await this.writer.query(DELETIONS[table], [
      ...stamp,
      numberOfKind(kind),
      ...arraysOf(gone, 'key', 'id', 'uuid', 'idFolded', 'visibleTo'),
      gone.map(({ visibleTo, membersVisibleTo }) => visibleTo + membersVisibleTo > 0),
    ]);
  }

  /** The fields of these entries refer to others than before, or to none. */
  private async recordReferring(
    kind: ChangeKind,
    table: Table,
    entries: readonly Referring[],
    stamp: Stamp,
  ): Promise<void> {
    if (entries.length === 0) return;
    await this.writer.query(ENTRIES[table], [
      ...stamp,
      numberOfKind(kind),
      entries.map(({ uuid }) => uuid),
      entries.map(() => null),
      entries.map((_, place) => place),
      entries.map(({ visibleTo }) => visibleTo),
    ]);
  }

  private async count(referring: number): Promise<void> {
    const { plan, people, groups } = this;
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
      [
        entries.reduce(
          (sum, { length }) => sum + length,
          people.revealedOrHidden.length + groups.revealedOrHidden.length + referring,
        ),
      ],
    );
  }
}

async function note(
  writer: Writer,
  table: Table,
  deleted: readonly { uuid: string }[],
  updated: readonly Entry[],
): Promise<Noted> {
  if (deleted.length + updated.length === 0) return { table, gone: [], renamed: [], revealedOrHidden: [] };
  const membersVisibleTo = table === 'groups' ? 'e.members_visible_to' : '0';
  const rows: (Former & { isGone: boolean; isRenamed: boolean; hasOtherAudience: boolean })[] =
    await writer.query(
      `select e.entry_uuid as uuid, e.key, e.id, e.id_folded as "idFolded", e.visible_to as "visibleTo",
         ${membersVisibleTo} as "membersVisibleTo", given.id is null as "isGone",
         e.id <> given.id as "isRenamed", e.visible_to <> given.visible_to as "hasOtherAudience"
       from unnest($1::uuid[], $2::text[], $3::smallint[]) as given (uuid, id, visible_to)
         join ${table} e on e.entry_uuid = given.uuid
       where e.id is distinct from given.id or e.visible_to <> given.visible_to`,
      [
        [...deleted.map(({ uuid }) => uuid), ...updated.map(({ value }) => value.uuid)],
        [...deleted.map(() => null), ...updated.map(({ value }) => value.id)],
        [...deleted.map(() => null), ...updated.map(({ value }) => value.visibleTo ?? 0)],
      ],
    );
  return {
    table,
    gone: rows.filter(({ isGone }) => isGone),
    renamed: rows.filter(({ isRenamed }) => isRenamed),
    revealedOrHidden: rows.filter(({ hasOtherAudience }) => hasOtherAudience),
  };
}
