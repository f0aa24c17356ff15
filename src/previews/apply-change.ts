import type { DirectoryMapping } from '../config/settings/directory.js';
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

/** Makes a change in a preview transaction as a synchronisation makes one: the rows, and whatever follows from them. */
export async function applyChange(
  transaction: PreviewTransaction,
  change: Partial<Plan>,
  mapping: DirectoryMapping,
): Promise<void> {
  const plan = { ...NOTHING, ...change };
  const effective = await EffectiveRoles.begin(transaction, plan, mapping);
  // Nobody ends it in between: the transaction has bounds of its own.
  await applyEntries(transaction, plan, mapping, new Date(), new AbortController().signal);
  await effective.finish(plan);
}

/** What makes a change permanent. */
export async function previewOf(
  transaction: PreviewTransaction,
  records: readonly ChangeRecord[],
): Promise<ChangePreview> {
  const [[asOf] = [null]] = await transaction.read<[asOf: Date | null]>(READ_AS_OF);
  return new ChangePreview(writeLdif(records), asOf);
}
