import {
  byName,
  type Draw,
  emailOf,
  type ExpectedOperation,
  type ExpectedValue,
  FORBIDDEN,
  NOT_FOUND,
} from './expected-operation.js';
import type { VisibilityModel } from './visibility-model.js';

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
