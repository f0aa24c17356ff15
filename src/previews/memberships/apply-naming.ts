import type { DirectoryMapping } from '../../config/settings/directory.js';
import type { Overlay } from '../../database/statements/preview-transaction.js';
import type { ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import type { HashedGroup, Plan, RoleChange } from '../../mirror/plan/plan.js';
import type { NamedAs } from '../../mirror/map/snapshot.js';
import { applyChange } from '../apply-change.js';
import { changeNames, NOT_NAMED } from './membership-record.js';
import type { MirroredGroup, MirroredPerson } from '../mirrored-entries.queries.js';

/** A person, or a group inside, whom a group names differently from now on. */
export interface Naming {
  readonly kind: keyof Pick<Plan, 'memberships' | 'nestings'>;
  readonly group: MirroredGroup;
  readonly subject: MirroredPerson | MirroredGroup;
  readonly before: NamedAs;
  readonly after: NamedAs;
}

/**
 * Makes a group name somebody differently in an overlay, and gives the record that makes it permanent.
 * @throws ServiceError CONFLICT when the group would be left without members, which its class does not allow
 */
export async function applyNaming(
  overlay: Overlay,
  naming: Naming,
  mapping: DirectoryMapping['groups'],
): Promise<ChangeRecord> {
  const { kind, group, subject, before, after } = naming;
  const { record, sourceValues } = changeNames(group.value, subject.value.dn, before, after, mapping);
  const isUpdated = sourceValues !== group.value.sourceValues;
  const updated: HashedGroup = { ...group, value: { ...group.value, sourceValues } };
  await applyChange(overlay, { [kind]: [roleChangeOf(naming)], updatedGroups: isUpdated ? [updated] : [] });
  return record;
}

/** How a plan says it. */
export function roleChangeOf({ group, subject, before, after }: Omit<Naming, 'kind'>): RoleChange {
  const orNull = (namedAs: NamedAs) => (namedAs === NOT_NAMED ? null : namedAs);
  return {
    group: group.value.uuid,
    subject: subject.value.uuid,
    before: orNull(before),
    after: orNull(after),
  };
}
