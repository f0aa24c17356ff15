import { AUDIENCE_LEVELS } from '../../../src/config/model/mapping.js';
import type { TestGroup, TestPerson } from './directory.js';
import { type HeldRole, heldRoles, namedBy, ROLES } from './role-model.js';
import { levelBy, type TestRules } from './visibility-rules.js';

/** Who reads: the id of a user or null, whether the token has the scope that sees everything, and the groups to which it is limited. */
export interface TestViewer {
  readonly id: string | null;
  readonly seesHidden: boolean;
  readonly limitedTo: readonly string[] | null;
}

/** Works out what a viewer sees, entry by entry, without SQL. */
export class VisibilityModel {
  private readonly roles: Map<string, Map<string, HeldRole>>;
  private readonly allowedGroups: ReadonlySet<string> | null;

  constructor(
    readonly people: readonly TestPerson[],
    readonly groups: readonly TestGroup[],
    private readonly viewer: TestViewer,
    private readonly rules: TestRules,
  ) {
    this.roles = heldRoles(groups);
    this.allowedGroups = viewer.limitedTo === null ? null : this.insideOf(viewer.limitedTo);
  }

  get viewerId(): string | null {
    return this.viewer.id;
  }

  get visiblePeople(): TestPerson[] {
    return this.people.filter((person) => this.seesUser(person.id));
  }

  get visibleGroups(): TestGroup[] {
    return this.groups.filter((group) => this.seesGroup(group.id));
  }

  seesUser(id: string): boolean {
    const person = this.people.find((each) => each.id === id);
    if (person === undefined) return false;
    const { limitedTo, seesHidden } = this.viewer;
    const isMemberOf = (group: string) =>
      this.roleOf(id, group) !== null && this.seesGroup(group) && this.seesMembers(group);
    if (limitedTo !== null && !limitedTo.some(isMemberOf)) return false;
    if (seesHidden || this.viewer.id === id) return true;
    const level = levelBy(this.rules.users, person);
    return level === 0 || (level === AUDIENCE_LEVELS.groupAdmins && this.administers(id));
  }

  /** The id of the manager of a user whom the viewer sees. */
  managerOf(id: string): string | null {
    const manager = this.people.find((each) => each.id === id)?.manager;
    return manager !== undefined && this.seesUser(manager) ? manager : null;
  }

  reportsOf(id: string): string[] {
    return this.visiblePeople.filter(({ manager }) => manager === id).map((each) => each.id);
  }

  /** The phone number of a user whom the viewer sees. Its audience are the admins of groups of the user. */
  phoneOf(id: string): string | null {
    const isInside = this.viewer.seesHidden || this.isViewer(id) || this.administers(id);
    return (isInside ? this.people.find((each) => each.id === id)?.phone : null) ?? null;
  }

  seesGroup(id: string): boolean {
    const group = this.groups.find((each) => each.id === id);
    if (group === undefined) return false;
    if (this.allowedGroups?.has(id) === false) return false;
    return this.isShown(group);
  }

  /** Of a group that the viewer sees. */
  seesMembers(id: string): boolean {
    const group = this.groups.find((each) => each.id === id);
    return group !== undefined && this.isInAudience(id, levelBy(this.rules.members, group));
  }

  roleOf(user: string, group: string): HeldRole | null {
    return this.roles.get(group)?.get(user) ?? null;
  }

  /** The ids of the visible members of a group. */
  members(group: string): string[] {
    return this.visiblePeople
      .filter(({ id }) => this.roleOf(id, group) !== null && this.seesMembership(id, group))
      .map(({ id }) => id);
  }

  groupsOf(user: string): string[] {
    return this.visibleGroups
      .filter(({ id }) => this.roleOf(user, id) !== null && this.seesMembership(user, id))
      .map(({ id }) => id);
  }

  seesMembership(user: string, group: string): boolean {
    return this.seesUser(user) && this.seesGroup(group) && (this.isViewer(user) || this.seesMembers(group));
  }

  inheritedFrom(user: string, group: string): string[] {
    return (this.roleOf(user, group)?.inheritedFrom ?? []).filter(
      (id) => this.seesGroup(id) && this.seesMembers(id),
    );
  }

  subgroups(group: string): string[] {
    const outer = this.groups.find(({ id }) => id === group);
    if (outer === undefined || !this.seesGroup(group) || !this.seesMembers(group)) return [];
    return [...namedBy(outer, 'groups').keys()].filter((id) => this.seesGroup(id));
  }

  parents(group: string): string[] {
    return this.groups.map(({ id }) => id).filter((id) => this.subgroups(id).includes(group));
  }

  /** The number of members by which groups are ordered. */
  memberCount(group: string): number {
    return this.seesMembers(group) ? this.members(group).length : 0;
  }

  /** What a group names as a member, as far as the viewer sees it. A group does not count as a member of itself. */
  memberValues(group: string): readonly string[] {
    const { members = [] } = this.groups.find(({ id }) => id === group) ?? {};
    const isSeen = (id: string) =>
      id.startsWith('@') ? id !== `@${group}` && this.seesGroup(id.slice(1)) : this.seesUser(id);
    return members.filter(isSeen);
  }

  isViewer(user: string): boolean {
    return this.viewer.id === user;
  }

  /** The role of the viewer: 0 none, 1 MEMBER, 2 ADMIN, 3 OWNER. */
  rankIn(group: string): number {
    const role = this.viewer.id === null ? null : this.roleOf(this.viewer.id, group);
    return role === null ? 0 : ROLES.indexOf(role.value) + 1;
  }

  private administers(user: string): boolean {
    return this.groups.some(({ id }) => this.roleOf(user, id) !== null && this.rankIn(id) >= 2);
  }

  /** By rules, without the limit of the viewer. */
  private isShown(group: TestGroup): boolean {
    return this.isInAudience(group.id, levelBy(this.rules.groups, group));
  }

  private isInAudience(group: string, level: number): boolean {
    return level === 0 || this.viewer.seesHidden || this.rankIn(group) >= level;
  }

  /** A hidden group, or one with hidden members, leads to no other group. */
  private insideOf(roots: readonly string[]): Set<string> {
    const found = new Set<string>();
    const visit = (id: string) => {
      const group = this.groups.find((each) => each.id === id);
      if (group === undefined || found.has(id) || !this.isShown(group)) return;
      found.add(id);
      if (!this.seesMembers(id)) return;
      for (const inner of namedBy(group, 'groups').keys()) visit(inner);
    };
    roots.forEach(visit);
    return found;
  }
}
