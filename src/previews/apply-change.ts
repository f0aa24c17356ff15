import type { DirectoryMapping } from '../config/model/mapping.js';
import type { PreviewTransaction } from '../database/statements/preview-transaction.js';
import { type ChangeRecord, writeLdif } from '../ldap/ldif/ldif-record.js';
import { applyEntries } from '../mirror/apply/apply-entries.js';
import { EffectiveRoles } from '../mirror/apply/effective-roles.js';
import type { Plan } from '../mirror/plan/plan.js';
import { ChangePreview } from './change.model.js';
import { READ_AS_OF } from './mirrored-entries.queries.js';

const NOTHING: Plan = {
  createdPeople: [],
  updatedPeople: [],
  deletedPeople: [],
  createdGroups: [],
  updatedGroups: [],
  deletedGroups: [],
  memberships: [],
  nestings: [],
  regrouped: [],
  unresolved: [],
  hash: '',
};

/** Applies a change in a preview transaction as a synchronization run does: the rows and all derived data. */
export async function applyChange(
  transaction: PreviewTransaction,
  change: Partial<Plan>,
  mapping: DirectoryMapping,
): Promise<void> {
  const plan = { ...NOTHING, ...change };
  const effective = await EffectiveRoles.begin(transaction, plan, mapping);
  // No signal cancels the work, because the transaction has its own limits.
  await applyEntries(transaction, plan, mapping, new Date(), new AbortController().signal);
  await effective.finish(plan);
}

/** Returns the LDIF that makes a change permanent. */
export async function previewOf(
  transaction: PreviewTransaction,
  records: readonly ChangeRecord[],
): Promise<ChangePreview> {
  const [[asOf] = [null]] = await transaction.read<[asOf: Date | null]>(READ_AS_OF);
  return new ChangePreview(writeLdif(records), asOf);
}
