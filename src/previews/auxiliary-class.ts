import type { DirectoryMapping } from '../config/settings/directory.js';
import { GROUP_CLASS, PERSON_CLASS } from '../mirror/map/map.js';

/** A class of the shipped schema, and what an entry can only have with it (ldap/directory.schema). */
export interface AuxiliaryClass {
  readonly name: string;
  readonly attributes: readonly string[];
}

export const DIRECTORY_PERSON: AuxiliaryClass = {
  name: PERSON_CLASS,
  attributes: ['schoolYear', 'profilePicture'],
};

/** It may have `owner` too, which groupOfNames has anyway. */
export const DIRECTORY_GROUP: AuxiliaryClass = {
  name: GROUP_CLASS,
  attributes: ['displayName', 'mail', 'labeledURI', 'groupAdmin'],
};

/** What groups get where they need it: nothing in a directory whose new groups do without. */
export function auxiliaryClassOfGroups({ classes }: DirectoryMapping['groups']): AuxiliaryClass | null {
  return classes.some((each) => isSame(each, GROUP_CLASS)) ? DIRECTORY_GROUP : null;
}

/** Names of attributes and classes are compared without regard to case (RFC 4512 §2.5). */
export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
