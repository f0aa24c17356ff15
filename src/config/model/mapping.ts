import type { Field } from '../../common/field.js';
import type {
  GroupAudience,
  UserAudience,
  VisibilityConfig,
  VisibilityRule,
} from '../settings/visibility.js';

/** Locations of users and groups, and names of their attributes. */
export interface DirectoryMapping {
  readonly users: EntryMapping;
  readonly groups: EntryMapping & {
    /** Rules for the visibility of members. */
    readonly memberRules: readonly VisibilityRule<GroupAudience>[];
    readonly member: string;
    readonly admin: string;
    readonly owner: string;
    /** Object classes of a new group. */
    readonly classes: readonly string[];
  };
}

/** Members that the mappings of users and groups share. */
export interface EntryMapping {
  readonly base: string;
  readonly filter: string;
  /** Attribute with the identity that survives renames (RFC 4530). */
  readonly uuid: string;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly id: string;
  /** The first attribute that has a value is used. */
  readonly name: readonly string[];
  /** Filter (RFC 4515) of entries that are not active. Null: all are active. */
  readonly disabled: string | null;
  /** The built-in fields with their attributes, and then the fields of the model file. */
  readonly fields: readonly Field[];
  /** Rules for the visibility of entries. */
  readonly rules: readonly VisibilityRule<UserAudience | GroupAudience>[];
}

export function mappingOf({ users, groups }: DirectoryMapping, kind: 'person' | 'group'): EntryMapping {
  return kind === 'person' ? users : groups;
}

/** Adds the rules of visibility, which are stored with the entries that they match. */
export function withRules(
  { users, groups }: DirectoryMapping,
  visibility: VisibilityConfig,
): DirectoryMapping {
  return {
    users: { ...users, rules: visibility.users },
    groups: { ...groups, rules: visibility.groups, memberRules: visibility.members },
  };
}
