import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Overlay } from '../../database/statements/preview-transaction.js';
import { Entry } from '../../ldap/entry.js';
import type { AddRecord } from '../../ldap/ldif/ldif-record.js';
import { mapGroup } from '../../mirror/map/map.js';
import { planDelta } from '../../mirror/plan/planning.js';
import type { Group, NamedAs, Person } from '../../mirror/map/snapshot.js';
import { applyChange } from '../apply-change.js';
import { roleChangeOf } from '../memberships/apply-naming.js';
import { NOT_NAMED } from '../memberships/membership-record.js';
import type { MirroredGroup } from '../mirrored-entries.queries.js';

/**
 * Adds a group to an overlay: what a synchronisation makes of the record, with everybody who named its DN before.
 * @param uuid what the directory would give it
 */
export async function addGroup(
  overlay: Overlay,
  { dn, attributes }: AddRecord,
  uuid: string,
  mapping: DirectoryMapping['groups'],
): Promise<void> {
  const written = [...attributes, { attribute: mapping.uuid, values: [uuid] }];
  const entry = new Entry(
    dn,
    written.map(({ attribute, values }) => [attribute, values.map((value) => Buffer.from(value))]),
  );
  const { value } = mapGroup(entry, mapping);
  if (value === null) throw new Error('The mirror would not show the group that is made here');
  await applyDelta(overlay, [value], []);
}

/** Removes a group from an overlay, and from the groups that name it. */
export async function removeGroup(
  overlay: Overlay,
  subject: MirroredGroup,
  outer: readonly { group: MirroredGroup; namedAs: NamedAs }[],
): Promise<void> {
  const nestings = outer.map(({ group, namedAs }) =>
    roleChangeOf({ group, subject, before: namedAs, after: NOT_NAMED }),
  );
  await applyChange(overlay, { nestings });
  await applyDelta(overlay, [], [subject.value.uuid]);
}

async function applyDelta(overlay: Overlay, added: readonly Group[], gone: readonly string[]): Promise<void> {
  const people = new Map<string, Person>();
  const groups = new Map(added.map((group) => [group.uuid, group]));
  const extent = { people, groups, gonePeople: new Set<string>(), goneGroups: new Set(gone) };
  await applyChange(overlay, await planDelta(overlay, { people, groups, quarantined: [] }, extent));
}
