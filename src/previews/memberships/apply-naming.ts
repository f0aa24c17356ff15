import type { DirectoryMapping } from '../../config/model/mapping.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { ChangeRecord } from '../../ldap/ldif/ldif-record.js';
import type { HashedGroup, Plan, RoleChange } from '../../mirror/plan/plan.js';
import type { NamedAs } from '../../mirror/map/snapshot.js';
import { applyChange } from '../apply-change.js';
import { changeNames, NOT_NAMED } from './membership-record.js';
import type { MirroredGroup, MirroredPerson } from '../mirrored-entries.queries.js';

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
  return record;
}

export function roleChangeOf({ group, subject, before, after }: Omit<Naming, 'kind'>): RoleChange {
  const orNull = (namedAs: NamedAs) => (namedAs === NOT_NAMED ? null : namedAs);
  return {
    group: group.value.uuid,
    subject: subject.value.uuid,
    before: orNull(before),
    after: orNull(after),
  };
}
