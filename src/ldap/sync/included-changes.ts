import type { Entry } from '../entry.js';
import { parseReplicaUpdateVector } from './replica-update-vector.js';
import { parseUpToDateVector } from './up-to-date-vector.js';

/** How an attribute says which changes of other databases a database includes. */
type VectorForm = 'up-to-date-vector' | 'replica-update-vector';

/** Null: the entry does not have the attribute in this form. */
export function includedChangesOf(
  entry: Entry,
  attribute: string,
  form: VectorForm,
): ReadonlyMap<string, number> | null {
  if (form === 'replica-update-vector') return parseReplicaUpdateVector(entry.text(attribute));
  const [bytes] = entry.bytes(attribute);
  return bytes === undefined ? null : parseUpToDateVector(bytes);
}
