import { ChangeKind } from '../../common/change-kind.js';
import { foldId } from '../../common/identity.js';
import type { AudienceLevel } from '../../config/settings/visibility.js';
import type { Values } from '../../database/statements/statement.js';
import { type EntryKind, KINDS } from '../../sources/source.js';
import type { Plan } from '../plan/plan.js';
import {
  recordDeletions,
  recordEntries,
  type RecordedChanges,
  type RecordedEntry,
  recordHidden,
  recordReferring,
  recordRevealed,
  selectChanges,
} from './change-statements.js';
import type { Former } from './former-entries.js';
import { orderRenames } from './order-renames.js';
import type { Referring } from './referring-entries.js';
import { recordRemovals, recordRoles } from './role-change-statements.js';

type Entry = {
  readonly value: { readonly uuid: string; readonly id: string; readonly visibleTo?: AudienceLevel | null };
};

/** What a plan changes, besides its own entries. */
interface PlanEffects {
  readonly former: readonly Former[];
  readonly referring: Readonly<Record<EntryKind, readonly Referring[]>>;
  /** SQL for the changed roles. */
  readonly roles: string;
  readonly hasRoles: boolean;
}

const CREATED = { person: ChangeKind.USER_CREATED, group: ChangeKind.GROUP_CREATED };
const UPDATED = { person: ChangeKind.USER_UPDATED, group: ChangeKind.GROUP_UPDATED };
const DELETED = { person: ChangeKind.USER_DELETED, group: ChangeKind.GROUP_DELETED };

/**
 * Returns SQL for the changes of a plan (docs/clients.md), after the rows and the effective roles are written; null if there are
 * none. The transaction holds the lock on the state of the mirror throughout, so change ids become visible in their order.
 *
 * A client can apply the changes one by one. No entry receives an id before the previous holder has released it, unless entries
 * exchange ids in a cycle. Removals come first, with the previous ids.
 */
export function selectRecorded(values: Values, plan: Plan, effects: PlanEffects): string | null {
  const { former, referring, roles, hasRoles } = effects;
  const created = { person: plan.createdPeople, group: plan.createdGroups };
  const updated = { person: plan.updatedPeople, group: plan.updatedGroups };
  const of = (kind: EntryKind, isWanted: (each: Former) => boolean) =>
    former.filter((each) => each.kind === kind && isWanted(each));
  const isOther = ({ isGone, isRenamed, hasOtherAudience }: Former) =>
    isGone || isRenamed || hasOtherAudience;
  const shifted = (kind: EntryKind) => of(kind, ({ hasOtherAudience }) => hasOtherAudience);
  const entriesOf = (kind: EntryKind, entries: readonly Entry[]) =>
    inOrder(
      entries,
      of(kind, () => true),
    );
  const parts = [
    ...(hasRoles ? [recordRemovals(values, of('person', isOther), of('group', isOther), roles)] : []),
    ...each(
      (kind) => of(kind, ({ isGone }) => isGone),
      (kind, gone) => recordDeletions(values, DELETED[kind], kind, gone, roles),
    ),
    ...each(shifted, (kind, entries) => recordHidden(values, DELETED[kind], kind, entries)),
    ...each(
      (kind) => entriesOf(kind, updated[kind]),
      (kind, entries) => recordEntries(values, UPDATED[kind], kind, entries),
    ),
    ...each(shifted, (kind, entries) => recordRevealed(values, CREATED[kind], kind, entries)),
    ...each(
      (kind) => entriesOf(kind, created[kind]),
      (kind, entries) => recordEntries(values, CREATED[kind], kind, entries),
    ),
    ...each(
      (kind) => referring[kind],
      (kind, entries) => recordReferring(values, UPDATED[kind], kind, entries),
    ),
    ...(hasRoles ? [recordRoles(values, shifted('person'), shifted('group'), roles)] : []),
  ];
  return parts.length === 0 ? null : parts.map(selectChanges).join(' union all ');
}

/** Records users, then groups, where there are any. */
function each<Item>(
  itemsOf: (kind: EntryKind) => readonly Item[],
  record: (kind: EntryKind, items: readonly Item[]) => RecordedChanges,
): RecordedChanges[] {
  return KINDS.filter((kind) => itemsOf(kind).length > 0).map((kind) => record(kind, itemsOf(kind)));
}

/** The entries in an order in which each id is released before another entry receives it. */
function inOrder(entries: readonly Entry[], former: readonly Former[]): RecordedEntry[] {
  const before = new Map(former.map((each) => [each.uuid, each]));
  const renames = entries.flatMap(({ value: { uuid, id } }) => {
    const known = before.get(uuid);
    return known?.isRenamed === true ? [{ uuid, key: known.key, from: known.idFolded, to: foldId(id) }] : [];
  });
  const ordered = orderRenames(renames.sort((left, right) => left.key - right.key));
  const places = new Map(ordered.map(({ uuid }, place) => [uuid, place]));
  return entries.map(({ value: { uuid } }) => {
    const known = before.get(uuid);
    return {
      uuid,
      idBefore: known?.isRenamed === true ? known.id : null,
      place: places.get(uuid) ?? ordered.length,
      visibleToBefore: known?.hasOtherAudience === true ? known.visibleTo : 0,
    };
  });
}
