import type { DirectoryMapping } from '../config/model/mapping.js';
import { GROUP_CLASS, PERSON_CLASS } from '../mirror/map/map.js';

/**
 * A class of the shipped schema, and the attributes that an entry can have only with it
 * (ldap/directory.schema).
 */
export interface AuxiliaryClass {
  readonly name: string;
  readonly attributes: readonly string[];
}

export const DIRECTORY_PERSON: AuxiliaryClass = {
  name: PERSON_CLASS,
  attributes: ['schoolYear', 'profilePicture'],
};

/** The class also allows `owner`, which groupOfNames allows anyway. */
export const DIRECTORY_GROUP: AuxiliaryClass = {
  name: GROUP_CLASS,
  attributes: ['displayName', 'mail', 'labeledURI', 'groupAdmin'],
};

/**
 * Returns the auxiliary class that groups receive when they need it. Null: new groups of this directory do
 * not have it.
 */
export function auxiliaryClassOfGroups({ classes }: DirectoryMapping['groups']): AuxiliaryClass | null {
  return classes.some((each) => isSame(each, GROUP_CLASS)) ? DIRECTORY_GROUP : null;
}

/** Compares names of attributes and classes, ignoring case (RFC 4512 §2.5). */
export function isSame(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
