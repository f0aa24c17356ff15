import type { DirectoryMapping } from '../config/model/mapping.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import { withCreated, withJoined, withNamed } from '../database/visibility/viewer.js';
import { type ChangeRecord, writeLdif, type AddRecord } from '../ldap/ldif/ldif-record.js';
import { applyEntries } from '../mirror/apply/apply-entries.js';
import { EffectiveRoles } from '../mirror/apply/effective-roles.js';
import { EMPTY_PLAN, type Plan, type HashedGroup, type RoleChange } from '../mirror/plan/plan.js';
import { ChangePreview } from './change.model.js';
import { READ_AS_OF, type MirroredGroup, type MirroredPerson } from './mirrored-entries.queries.js';
import type { NamedAs, MappedGroup, MappedPerson } from '../mirror/map/snapshot.js';
import { changeNames, NOT_NAMED } from './memberships/membership-record.js';
import { Entry } from '../ldap/entry.js';
import { mapGroup } from '../mirror/map/map.js';
import { planDelta } from '../mirror/plan/planning.js';

/** Applies a change in a preview transaction as a synchronization run does: the rows and all derived data. */
export async function applyChange(
  transaction: PreviewTransaction,
  change: Partial<Plan>,
  mapping: DirectoryMapping,
): Promise<void> {
  const plan = { ...EMPTY_PLAN, ...change };
  const effective = await EffectiveRoles.beginNext(transaction, plan, mapping);
  // No signal cancels the work, because the transaction has its own limits.
  await applyEntries(transaction, plan, mapping, new Date(), new AbortController().signal);
  await effective.finish();
  const { administeredGroups } = transaction;
  if (administeredGroups.length === 0) return;
  const joined = await transaction.query<{ key: number }[]>(selectJoined(effective.changes), [
    administeredGroups,
  ]);
  const users = joined.map(({ key }) => key);
  transaction.changeViewer((viewer) => withJoined(viewer, users));
}

/** Who belongs to one of the groups $1 by this change alone. */
const selectJoined = (changes: string) => `
  select c.user_key as key from ${changes} c
  where c.role_before is null and c.role_after is not null and c.group_key = any ($1::integer[])
    and not exists (
      select from effective_memberships m
      where m.user_key = c.user_key and m.group_key = any ($1::integer[]) and not exists (
        select from ${changes} d
        where d.user_key = m.user_key and d.group_key = m.group_key and d.role_before is null))`;

/** Returns the LDIF that makes a change permanent, with what would change. */
export async function previewOf(
  transaction: PreviewTransaction,
  records: readonly ChangeRecord[],
  changes: ChangePreview['changes'],
): Promise<ChangePreview> {
  const [[asOf] = [null]] = await transaction.read<[asOf: Date | null]>(READ_AS_OF);
  return new ChangePreview(writeLdif(records), asOf, changes);
}

interface Naming {
  readonly kind: keyof Pick<Plan, 'memberships' | 'nestings'>;
  readonly group: MirroredGroup;
  readonly subject: MirroredPerson | MirroredGroup;
  readonly before: NamedAs;
  readonly after: NamedAs;
}

/**
 * Changes how a group names a user or a nested group in a preview transaction, and returns the record that
 * makes the change permanent.
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow
 */
export async function applyNaming(
  transaction: PreviewTransaction,
  naming: Naming,
  mapping: DirectoryMapping,
): Promise<ChangeRecord> {
  const { kind, group, subject, before, after } = naming;
  const { dn, uuid, id } = subject.value;
  const named = { dn, uuid, id: kind === 'memberships' ? id : null };
  const { record, sourceValues } = changeNames(group.value, named, before, after, mapping.groups);
  const isUpdated = sourceValues !== group.value.sourceValues;
  const updated: HashedGroup = { ...group, value: { ...group.value, sourceValues } };
  await applyChange(
    transaction,
    { [kind]: [roleChangeOf(naming)], updatedGroups: isUpdated ? [updated] : [] },
    mapping,
  );
  if (kind === 'memberships') transaction.changeViewer((viewer) => withNamed(viewer, subject.key, group.key));
  return record;
}

function roleChangeOf({ group, subject, before, after }: Omit<Naming, 'kind'>): RoleChange {
  const orNull = (namedAs: NamedAs) => (namedAs === NOT_NAMED ? null : namedAs);
  return {
    group: group.value.uuid,
    subject: subject.value.uuid,
    before: orNull(before),
    after: orNull(after),
  };
}

/**
 * Adds a group to a preview transaction as a synchronization run would, including the memberships of groups
 * that already name its DN.
 * @param uuid the entryUUID that the directory would assign
 */
export async function addGroup(
  transaction: PreviewTransaction,
  { dn, attributes }: AddRecord,
  uuid: string,
  mapping: DirectoryMapping,
): Promise<void> {
  const written = [...attributes, { attribute: mapping.groups.uuid, values: [uuid] }];
  const entry = new Entry(
    dn,
    written.map(({ attribute, values }) => [attribute, values.map((value) => Buffer.from(value))]),
  );
  const { value } = mapGroup(entry, mapping.groups);
  if (value === null) throw new Error('The mirror would not show the new group');
  const { administeredGroups } = transaction;
  await applyDelta(transaction, [value], [], mapping);
  if (!transaction.isPersonal) return;
  const [created] = await transaction.query<{ key: number; uuid: string }[]>(READ_CREATED, [uuid]);
  if (created === undefined) throw new Error('The new group was not written');
  // Users can name the group already. The preview does not show the creator more of them than before.
  const joined = await transaction.query<{ key: number }[]>(READ_JOINED, [created.key, administeredGroups]);
  const users = joined.map(({ key }) => key);
  transaction.changeViewer((viewer) => withJoined(withCreated(viewer, created), users));
}

const READ_CREATED = 'select key, entry_uuid as uuid from groups where entry_uuid = $1';

/** The members of the group $1 who belong to none of the groups $2. */
const READ_JOINED = `
  select m.user_key as key from effective_memberships m
  where m.group_key = $1 and not exists (
    select from effective_memberships o where o.user_key = m.user_key and o.group_key = any ($2::integer[]))`;

/** Removes a group from a preview transaction, and from the groups that name it. */
export async function removeGroup(
  transaction: PreviewTransaction,
  subject: MirroredGroup,
  outer: readonly { group: MirroredGroup; namedAs: NamedAs }[],
  mapping: DirectoryMapping,
): Promise<void> {
  const nestings = outer.map(({ group, namedAs }) =>
    roleChangeOf({ group, subject, before: namedAs, after: NOT_NAMED }),
  );
  await applyChange(transaction, { nestings }, mapping);
  await applyDelta(transaction, [], [subject.value.uuid], mapping);
}

async function applyDelta(
  transaction: PreviewTransaction,
  added: readonly MappedGroup[],
  gone: readonly string[],
  mapping: DirectoryMapping,
): Promise<void> {
  const people = new Map<string, MappedPerson>();
  const groups = new Map(added.map((group) => [group.uuid, group]));
  const extent = { people, groups, gonePeople: new Set<string>(), goneGroups: new Set(gone) };
  await applyChange(
    transaction,
    await planDelta(transaction, { people, groups, quarantined: [] }, extent, mapping),
    mapping,
  );
}
