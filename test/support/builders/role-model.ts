import type { TestGroup } from './directory.js';

export const ROLES = ['MEMBER', 'ADMIN', 'OWNER'] as const;
export type Role = (typeof ROLES)[number];

/** A reference implementation of roles, which follows each path. */
export interface HeldRole {
  value: Role;
  direct: Role | null;
  /** Sorted ids. */
  inheritedFrom: string[];
}

const ATTRIBUTES = [
  ['members', 'MEMBER'],
  ['admins', 'ADMIN'],
  ['owners', 'OWNER'],
] as const;

/** The roles of all users in all groups, by ids of the group and the user. */
export function heldRoles(groups: readonly TestGroup[]): Map<string, Map<string, HeldRole>> {
  return new Map(groups.map((group) => [group.id, rolesIn(group, groups)]));
}

/** The users or groups that a group references, each with its highest role. */
export function namedBy(group: TestGroup, what: 'people' | 'groups'): Map<string, Role> {
  const named = new Map<string, Role>();
  for (const [attribute, role] of ATTRIBUTES) {
    for (const id of group[attribute] ?? []) {
      if (id.startsWith('@') !== (what === 'groups') || id === `@${group.id}`) continue;
      named.set(id.replace('@', ''), role);
    }
  }
  return named;
}

function rolesIn(group: TestGroup, groups: readonly TestGroup[]): Map<string, HeldRole> {
  const ways: { person: string; role: Role; via: string | null }[] = [];
  for (const [person, role] of namedBy(group, 'people')) ways.push({ person, role, via: null });
  for (const [inner, role] of namedBy(group, 'groups')) {
    for (const person of usersInside(inner, group.id, groups)) ways.push({ person, role, via: inner });
  }
  const held = new Map<string, HeldRole>();
  for (const { person } of ways) {
    const own = ways.filter((way) => way.person === person);
    const rank = Math.max(...own.map((way) => ROLES.indexOf(way.role)));
    const value = ROLES[rank] ?? 'MEMBER';
    const direct = own.find(({ via }) => via === null)?.role ?? null;
    const best = own.flatMap(({ role, via }) => (role === value && via !== null ? [via] : []));
    held.set(person, { value, direct, inheritedFrom: direct === value ? [] : [...new Set(best)].sort() });
  }
  return held;
}

/** Users that a group or one of its inner groups references, on paths that do not contain `outer`. */
function usersInside(inner: string, outer: string, groups: readonly TestGroup[]): Set<string> {
  const people = new Set<string>();
  const seen = new Set([outer]);
  const visit = (id: string) => {
    const group = groups.find((each) => each.id === id);
    if (group === undefined || seen.has(id)) return;
    seen.add(id);
    for (const person of namedBy(group, 'people').keys()) people.add(person);
    for (const nested of namedBy(group, 'groups').keys()) visit(nested);
  };
  visit(inner);
  return people;
}
