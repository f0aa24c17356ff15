import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import { Entry } from '../../ldap/entry.js';
import type { AddRecord } from '../../ldap/ldif/ldif-record.js';
import { mapGroup } from '../../mirror/map/map.js';
import { planDelta } from '../../mirror/plan/planning.js';
import type { MappedGroup, NamedAs, MappedPerson } from '../../mirror/map/snapshot.js';
import { applyChange } from '../apply-change.js';
import { roleChangeOf } from '../memberships/apply-naming.js';
import { NOT_NAMED } from '../memberships/membership-record.js';
import type { MirroredGroup } from '../mirrored-entries.queries.js';

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
  await applyDelta(transaction, [value], [], mapping);
}

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
