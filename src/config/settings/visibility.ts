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

/**
 * Who may see users, groups, and the members of groups. Of each list, the first rule that matches an entry decides; an object
 * that no rule matches is visible to everyone.
 */
export interface VisibilityConfig {
  /** The scope of tokens that see everything. Null: there is none. */
  readonly bypass: string | null;
  readonly users: readonly VisibilityRule<UserAudience>[];
  readonly groups: readonly VisibilityRule<GroupAudience>[];
  readonly members: readonly VisibilityRule<GroupAudience>[];
}

/** Everything is visible to everyone. */
export const NO_RULES: VisibilityConfig = { bypass: null, users: [], groups: [], members: [] };
