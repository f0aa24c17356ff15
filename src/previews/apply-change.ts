import type { Overlay } from '../database/statements/preview-transaction.js';
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

/** Makes a change in an overlay as a synchronisation makes one: the rows, and whatever follows from them. */
export async function applyChange(overlay: Overlay, change: Partial<Plan>): Promise<void> {
  const plan = { ...NOTHING, ...change };
  const effective = await EffectiveRoles.begin(overlay, plan);
  // Nobody ends it in between: the overlay has bounds of its own.
  await applyEntries(overlay, plan, new Date(), new AbortController().signal);
  await effective.finish(plan);
}

/** What makes a change permanent. */
export async function previewOf(overlay: Overlay, records: readonly ChangeRecord[]): Promise<ChangePreview> {
  const [[asOf] = [null]] = await overlay.read<[asOf: Date | null]>(READ_AS_OF);
  return new ChangePreview(writeLdif(records), asOf);
}
