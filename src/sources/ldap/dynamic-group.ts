import type { Entry } from '../../ldap/entry.js';

/**
 * Attributes with the searches of dynamic groups. OpenLDAP gives the subtypes of an attribute along with it, and the
 * overlay dynlist takes subtypes of labeledURI only.
 */
export const DYNAMIC_ATTRIBUTES: readonly string[] = ['labeledURI', 'memberURL'];

/** The class of dynamic groups in the schema that comes with OpenLDAP, in lower case. */
const DYNAMIC_CLASS = 'groupofurls';

/** The beginning of a search of the same server (RFC 4516). */
const LOCAL_URL = 'ldap:///';

/** Whether the server may find the members of a group by a search of its own (pure). */
export function isDynamicGroup(entry: Entry): boolean {
  if (entry.bytes('objectClass').some((value) => lower(value) === DYNAMIC_CLASS)) return true;
  return [...entry.attributes.values()].some((values) => values.some(isLocalUrl));
}

function isLocalUrl(value: Buffer): boolean {
  // The comparison of a byte first: a group may have a hundred thousand values.
  const last = LOCAL_URL.length - 1;
  return value[last] === LOCAL_URL.charCodeAt(last) && lower(value.subarray(0, last + 1)) === LOCAL_URL;
}

function lower(value: Buffer): string {
  return value.toString('latin1').toLowerCase();
}
