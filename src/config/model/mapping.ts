import { createHash } from 'node:crypto';
import type { buildMapping } from './build-mapping.js';
import type { MemberForm, RoleMapping } from './model.schema.js';

export { type MemberForm, NAMED_BY, type NamedBy, type RoleMapping } from './model.schema.js';

/**
 * The levels under which audiences are stored. 0 is everyone; a higher level is a smaller audience. The level of a group
 * audience is the lowest role that belongs to it: 1 MEMBER, 2 ADMIN.
 */
export const AUDIENCE_LEVELS = { groupAdmins: 1, self: 2, members: 1, admins: 2 } as const;

export type AudienceLevel = (typeof AUDIENCE_LEVELS)[keyof typeof AUDIENCE_LEVELS];

/** Locations of users and groups, and names of their attributes. */
export type DirectoryMapping = Readonly<ReturnType<typeof buildMapping>>;
export type EntryMapping = DirectoryMapping['users' | 'groups'];

type Roles = Readonly<Record<'members' | 'admins' | 'owners', RoleMapping>>;

export function mappingOf({ users, groups }: DirectoryMapping, kind: 'person' | 'group'): EntryMapping {
  return kind === 'person' ? users : groups;
}

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
