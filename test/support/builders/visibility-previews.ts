import type { VisibilityModel } from './visibility-model.js';
import type { ExpectedScim } from './visibility-scim.js';

/** A connection, and the ids on all its pages for a viewer. */
export interface ExpectedList {
  readonly kind: 'list';
  /** The field around it, with «%» in the place of the connection. */
  readonly parent: string;
  readonly field: string;
  readonly args: string;
  readonly node: string;
  readonly expected: readonly string[];
  readonly pageSize: number;
  readonly isBackward: boolean;
  readonly style: Style;
}

/** A field whose whole answer is known. */
export interface ExpectedValue {
  readonly kind: 'value';
  readonly query: string;
  /** The value of the root field `found`, or the code of its error. */
  readonly expected: { readonly value: unknown } | { readonly code: string };
}

export type ExpectedOperation = ExpectedList | ExpectedValue | ExpectedScim;

/** How an operation is written. */
export type Style = 'plain' | 'alias' | 'fragment';

export interface Draw {
  readonly operation: number;
  readonly user: string;
  readonly group: string;
  readonly other: string;
  readonly filter: number;
  readonly order: number;
  readonly isDescending: boolean;
  readonly pageSize: number;
  readonly isBackward: boolean;
  readonly style: Style;
}

export const NOT_FOUND = { code: 'NOT_FOUND' };
export const FORBIDDEN = { code: 'FORBIDDEN' };

export function emailOf(user: string): string {
  return `${user}@example.org`;
}

export function nameOf(entries: readonly { id: string; name?: string }[], id: string): string {
  return entries.find((each) => each.id === id)?.name ?? '';
}

export function sort(
  ids: readonly string[],
  placeOf: (id: string) => readonly (string | number)[],
  isDescending: boolean,
): string[] {
  const sorted = [...ids].sort((left, right) => compare(placeOf(left), placeOf(right)));
  return isDescending ? sorted.reverse() : sorted;
}

export function byName(
  entries: readonly { id: string; name?: string }[],
  ids: readonly string[],
  isDescending = false,
): string[] {
  return sort(ids, (id) => [nameOf(entries, id).toLowerCase()], isDescending);
}

function compare(left: readonly (string | number)[], right: readonly (string | number)[]): number {
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? '';
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}

/** A member is added by a token that may change every group, or that acts for no user. */
export function previewMember({ user, group }: Draw, model: VisibilityModel): ExpectedOperation {
  const field = `addGroupMember(input: {group: {id: "${group}"}, user: {id: "${user}"}, role: OWNER}) {
    membership { user { id } role { value } } }`;
  if (!model.seesGroup(group) || !model.seesUser(user)) return mutation(field, NOT_FOUND);
  if (!model.seesMembers(group) && !model.isViewer(user)) return mutation(field, FORBIDDEN);
  if ((model.roleOf(user, group)?.direct ?? null) !== null) return mutation(field, { code: 'CONFLICT' });
  return mutation(field, { value: { membership: { user: { id: user }, role: { value: 'OWNER' } } } });
}

/** A preview in which the viewer becomes OWNER shows no more than before. */
export function previewOwnRole({ group }: Draw, model: VisibilityModel): ExpectedOperation {
  const { viewerId } = model;
  const field = `addGroupMember(input: {group: {id: "${group}"}, user: {id: "${viewerId ?? 'absent'}"}, role: OWNER}) {
    membership { group { members(first: 50) { totalCount nodes { user { id } } } } } }`;
  if (!model.seesGroup(group) || viewerId === null) return mutation(field, NOT_FOUND);
  if ((model.roleOf(viewerId, group)?.direct ?? null) !== null) return mutation(field, { code: 'CONFLICT' });
  if (!model.seesMembers(group)) return mutation(field, FORBIDDEN);
  const ids = [...new Set([...model.members(group), viewerId])];
  const nodes = byName(model.people, ids).map((id) => ({ user: { id } }));
  return mutation(field, {
    value: { membership: { group: { members: { totalCount: nodes.length, nodes } } } },
  });
}

/** The last member that the viewer sees cannot be removed, also if hidden ones remain. */
export function previewRemoval({ user, group }: Draw, model: VisibilityModel): ExpectedOperation {
  const field = `removeGroupMember(input: {group: {id: "${group}"}, user: {id: "${user}"}}) { group { id } }`;
  const role = model.roleOf(user, group);
  if (!model.seesGroup(group) || !model.seesUser(user)) return mutation(field, NOT_FOUND);
  if (!model.seesMembers(group) && !model.isViewer(user)) return mutation(field, FORBIDDEN);
  if (role === null) return mutation(field, NOT_FOUND);
  const members = model.groups.find(({ id }) => id === group)?.members ?? [];
  const isLast =
    members.includes(user) && (!model.seesMembers(group) || model.memberValues(group).length <= 1);
  if (role.direct === null || isLast) return mutation(field, { code: 'CONFLICT' });
  return mutation(field, { value: { group: { id: group } } });
}

/** A hidden group with the id is as one that does not exist, and so is one outside of the limit of an account. */
export function previewCreation({ group }: Draw, model: VisibilityModel): ExpectedOperation {
  const field = `createGroup(input: {id: "${group}", name: "New"}) { group { id } }`;
  if (model.seesGroup(group)) return mutation(field, { code: 'CONFLICT' });
  return mutation(field, { value: { group: { id: group } } });
}

/** What a preview shows of a user besides the change is what the viewer sees. */
export function previewUserUpdate({ user }: Draw, model: VisibilityModel): ExpectedOperation {
  const field = `updateUser(input: {user: {id: "${user}"}, email: "new@example.org"}) {
    user { id email phone manager { id } groups(first: 50) { totalCount nodes { group { id } } } }
    preview { changes { path before after } } }`;
  if (!model.seesUser(user)) return mutation(field, NOT_FOUND);
  const manager = model.managerOf(user);
  const groups = byName(model.groups, model.groupsOf(user));
  return mutation(field, {
    value: {
      user: {
        id: user,
        email: 'new@example.org',
        phone: model.phoneOf(user),
        manager: manager === null ? null : { id: manager },
        groups: { totalCount: groups.length, nodes: groups.map((id) => ({ group: { id } })) },
      },
      preview: { changes: [{ path: ['user', 'email'], before: emailOf(user), after: 'new@example.org' }] },
    },
  });
}

export function previewGroupUpdate({ group }: Draw, model: VisibilityModel): ExpectedOperation {
  const isListed = model.seesMembers(group);
  const field = `updateGroup(input: {group: {id: "${group}"}, email: "new@example.org"}) {
    group { id email subgroups(first: 50) { totalCount nodes { id } }
      ${isListed ? 'members(first: 50) { totalCount nodes { user { id } } }' : ''} }
    preview { changes { path before after } } }`;
  if (!model.seesGroup(group)) return mutation(field, NOT_FOUND);
  const subgroups = byName(model.groups, model.subgroups(group));
  const users = byName(model.people, model.members(group));
  const members = { totalCount: users.length, nodes: users.map((id) => ({ user: { id } })) };
  return mutation(field, {
    value: {
      group: {
        id: group,
        email: 'new@example.org',
        subgroups: { totalCount: subgroups.length, nodes: subgroups.map((id) => ({ id })) },
        ...(isListed && { members }),
      },
      preview: { changes: [{ path: ['group', 'email'], before: null, after: 'new@example.org' }] },
    },
  });
}

function mutation(field: string, expected: ExpectedValue['expected']): ExpectedValue {
  return { kind: 'value', query: `mutation { found: ${field} }`, expected };
}
