import type { Entry } from '../../ldap/entry.js';

/**
 * The attributes that contain the searches of dynamic groups: OpenLDAP returns the subtypes of an attribute
 * with it, and the overlay dynlist accepts only subtypes of labeledURI.
 */
export const DYNAMIC_ATTRIBUTES: readonly string[] = ['labeledURI', 'memberURL'];

/** The object class of dynamic groups in the schema that OpenLDAP includes, in lower case. */
const DYNAMIC_CLASS = 'groupofurls';

/** The prefix of an LDAP URL that refers to the same server (RFC 4516). */
const LOCAL_URL = 'ldap:///';

/** Whether the server may compute the members of a group by a search (pure). */
export function isDynamicGroup(entry: Entry): boolean {
  if (entry.bytes('objectClass').some((value) => lower(value) === DYNAMIC_CLASS)) return true;
  return [...entry.attributes.values()].some((values) => values.some(isLocalUrl));
}

function isLocalUrl(value: Buffer): boolean {
  // One byte is compared first, because a group may have a hundred thousand values.
  const last = LOCAL_URL.length - 1;
  return value[last] === LOCAL_URL.charCodeAt(last) && lower(value.subarray(0, last + 1)) === LOCAL_URL;
}

function lower(value: Buffer): string {
  return value.toString('latin1').toLowerCase();
}
