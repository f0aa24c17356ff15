import type { FieldReference } from '../../common/field.js';
import { foldId } from '../../common/identity.js';
import { keyOfDn } from '../../ldap/naming/dn-key.js';
import { parseUuid } from '../../ldap/naming/entry-uuid.js';
import { Misfit } from './parse-value.js';

/**
 * Returns the form in which the mirror stores what a reference names (pure): the key of a DN, a folded id or a UUID. No
 * entry may have it yet.
 * @param text the value as text without surrounding white space
 */
export function parseTarget(text: string, by: FieldReference['by']): string | Misfit {
  if (by === 'id') return foldId(text);
  if (by === 'uuid') return parseUuid(Buffer.from(text)) ?? new Misfit('is not a UUID');
  return keyOfDn(text);
}
