import { createHash } from 'node:crypto';
import type { Field } from '../../common/field.js';

/** Who may see a user that a rule matches: the admins of their groups and themselves, or only themselves. */
export type UserAudience = 'groupAdmins' | 'self';
/** Who may see a group, or its members, that a rule matches. */
export type GroupAudience = 'members' | 'admins';

/** A filter over entries (RFC 4515), and who may see what it matches. */
export interface VisibilityRule<Audience extends UserAudience | GroupAudience> {
  readonly where: string;
  readonly to: Audience;
}

/**
 * The levels under which audiences are stored. 0 is everyone; a higher level is a smaller audience. The level of a group
 * audience is the lowest role that belongs to it: 1 MEMBER, 2 ADMIN.
 */
export const AUDIENCE_LEVELS = { groupAdmins: 1, self: 2, members: 1, admins: 2 } as const satisfies Record<
  UserAudience | GroupAudience,
  number
>;

export type AudienceLevel = (typeof AUDIENCE_LEVELS)[UserAudience | GroupAudience];

/** Of each list, the first rule that matches an entry decides; an object that no rule matches is visible to everyone. */
export interface VisibilityConfig {
  /** The scope of tokens that see everything. Null: there is none. */
  readonly bypass: string | null;
  readonly users: readonly VisibilityRule<UserAudience>[];
  readonly groups: readonly VisibilityRule<GroupAudience>[];
  readonly members: readonly VisibilityRule<GroupAudience>[];
}

export const NO_RULES: VisibilityConfig = { bypass: null, users: [], groups: [], members: [] };

/** Locations of users and groups, and names of their attributes. */
export interface DirectoryMapping {
  readonly users: EntryMapping & {
    /** Attributes of users that name groups whose members they are: DNs, such as memberOf, or the number in primaryGroupID. */
    readonly memberOf?: readonly string[];
    /** Attributes of users that change with their photo. */
    readonly photoStamp?: readonly string[];
  };
  readonly groups: EntryMapping &
    Roles & {
      readonly memberRules: readonly VisibilityRule<GroupAudience>[];
      /** Object classes of a new group. */
      readonly classes: readonly string[];
      /** Whether groups of every class can be empty. Undefined: RFC 4519 applies. */
      readonly mayBeEmpty?: true;
      /** Attribute in the relative DN of a new group. Undefined: that of the id. */
      readonly namingAttribute?: string;
    };
}

/** How the values of an attribute of a group name its members: by DN, by id of a user, or by entryUUID. */
export const NAMED_BY = ['dn', 'id', 'uuid'] as const;
export type NamedBy = (typeof NAMED_BY)[number];

type Roles = Readonly<Record<'members' | 'admins' | 'owners', RoleMapping>>;

/** The attributes of a group that name the entries of a role, in one or several forms. All of them count. Empty: there are none. */
export type RoleMapping = readonly MemberForm[];

/** Attributes whose values name entries in the same way. With several attributes, all of them count. */
export interface MemberForm {
  readonly attributes: readonly string[];
  /** No other form of the role has the same. */
  readonly by: NamedBy;
  /** Whether the attribute has at most one value. */
  readonly isSingle?: boolean;
}

/** Members that the mappings of users and groups share. */
export interface EntryMapping {
  /** DNs below which the entries are: at least one. */
  readonly bases: readonly string[];
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
  /** Whether the server knows assertions (RFC 4528). */
  readonly hasAssertions?: true;
  readonly rules: readonly VisibilityRule<UserAudience | GroupAudience>[];
}

export function mappingOf({ users, groups }: DirectoryMapping, kind: 'person' | 'group'): EntryMapping {
  return kind === 'person' ? users : groups;
}

/** Whether rules can hide something from someone. */
export function hasRules({ users, groups }: DirectoryMapping): boolean {
  return users.rules.length + groups.rules.length + groups.memberRules.length > 0;
}

/** A number of 31 bits that identifies the rules; 0 if there are none. */
export function numberOfRules({ users, groups }: DirectoryMapping): number {
  const lists = [users.rules, groups.rules, groups.memberRules];
  if (lists.flat().length === 0) return 0;
  const text = JSON.stringify(lists.map((rules) => rules.map(({ where, to }) => [where, to])));
  return Math.max(createHash('sha256').update(text).digest().readUInt32BE() >>> 1, 1);
}

/** The end of the fingerprint of a mirror whose entries were compared with these rules. */
export function markOfRules(number: number): string {
  return number === 0 ? '' : `.${number}`;
}

/** The forms in which groups name members, admins and owners. */
export function formsOf({ members, admins, owners }: Roles): MemberForm[] {
  return [...members, ...admins, ...owners];
}

/** The attributes of groups that name members, admins and owners, each once. */
export function memberAttributesOf(roles: Roles): string[] {
  return [...new Set(formsOf(roles).flatMap(({ attributes }) => attributes))];
}
