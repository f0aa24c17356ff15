import fc from 'fast-check';
import { nodeIdOf } from '../../../src/common/identity.js';
import { ROLES } from './role-model.js';
import { PHONES, uuidOfId } from './visibility-directory.js';
import type { VisibilityModel } from './visibility-model.js';
import {
  byName,
  type Draw,
  emailOf,
  type ExpectedList,
  type ExpectedOperation,
  type ExpectedValue,
  FORBIDDEN,
  nameOf,
  NOT_FOUND,
  previewCreation,
  previewGroupUpdate,
  previewMember,
  previewOwnRole,
  previewRemoval,
  previewUserUpdate,
  sort,
  type Style,
} from './visibility-previews.js';
import { scimGroup, scimGroups, scimUser, scimUsers } from './visibility-scim.js';

/** What an operation is about. Ids are those of a directory, or of nothing. */
export function draws(users: readonly string[], groups: readonly string[]): fc.Arbitrary<Draw> {
  return fc.record({
    operation: fc.nat(99),
    user: fc.constantFrom(...users, 'absent'),
    group: fc.constantFrom(...groups, 'absent'),
    other: fc.constantFrom(...groups),
    filter: fc.nat(99),
    order: fc.nat(99),
    isDescending: fc.boolean(),
    pageSize: fc.integer({ min: 1, max: 7 }),
    isBackward: fc.boolean(),
    style: fc.constantFrom<Style>('plain', 'alias', 'fragment'),
  });
}

type Operation = (draw: Draw, model: VisibilityModel) => ExpectedOperation;

const OPERATIONS: readonly Operation[] = [
  ...[listUsers, listGroups, listMembers, listGroupsOfUser, listNested, search, listReports],
  ...[findUser, findGroup, findNodes, isMember, findMembership, findMemberships, readRoles],
  ...[previewMember, previewOwnRole, previewRemoval, previewCreation, previewUserUpdate, previewGroupUpdate],
  ...[scimUsers, scimUsers, scimGroups, scimUser, scimGroup],
];

/** The operation that a draw stands for, and what the viewer of the model gets. */
export function expectedOf(draw: Draw, model: VisibilityModel): ExpectedOperation {
  return (OPERATIONS[draw.operation % OPERATIONS.length] ?? listUsers)(draw, model);
}

function listUsers(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const filters: [string, (id: string) => boolean][] = [
    ['', () => true],
    ['search: "an"', (id) => /an/i.test(nameOf(model.people, id))],
    ['schoolYear: "1A"', (id) => model.people.find((each) => each.id === id)?.schoolYear === '1A'],
    [`ids: ["p1", "p7", "${draw.user}"]`, (id) => ['p1', 'p7', draw.user].includes(id)],
    [`emails: ["${emailOf('p2')}", "${emailOf(draw.user)}"]`, (id) => ['p2', draw.user].includes(id)],
    ...PHONES.map((phone): [string, (id: string) => boolean] => [
      `phone: {is: "${phone}"}`,
      (id) => model.phoneOf(id) === phone,
    ]),
    [`memberOf: {id: "${draw.group}"}`, (id) => model.members(draw.group).includes(id)],
    [
      `memberOf: {id: "${draw.group}"}, role: {is: ADMIN}`,
      (id) =>
        model.members(draw.group).includes(id) &&
        ROLES.indexOf(model.roleOf(id, draw.group)?.value ?? 'MEMBER') > 0,
    ],
  ];
  const [filter, holds] = filters[draw.filter % filters.length] ?? ['', () => true];
  if (filter.includes('memberOf') && !model.seesGroup(draw.group))
    return value(`users(first: 1, filter: {${filter}}) { totalCount }`, NOT_FOUND);
  const orders: [string, (id: string) => string][] = [
    ['NAME', () => ''],
    ['SCHOOL_YEAR', (id) => model.people.find((each) => each.id === id)?.schoolYear ?? ''],
    ['FAMILY_NAME', (id) => familyOf(model, id)],
  ];
  const [field, first] = orders[draw.order % orders.length] ?? ['NAME', () => ''];
  const place = (id: string) => [first(id), nameOf(model.people, id).toLowerCase()];
  const ids = model.visiblePeople.map(({ id }) => id).filter(holds);
  const order = `orderBy: {field: ${field}, direction: ${direction(draw)}}`;
  const expected = sort(ids, place, draw.isDescending);
  const args = `filter: {${filter}}, ${order}`;
  return list(draw, { parent: '%', field: 'users', args, node: 'id', expected });
}

function listGroups(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const filters: [string, (id: string) => boolean, boolean][] = [
    ['', () => true, true],
    ['isRoot: true', (id) => model.parents(id).length === 0, true],
    ['isRoot: false', (id) => model.parents(id).length > 0, true],
    [`ids: ["g1", "g5", "${draw.group}"]`, (id) => ['g1', 'g5', draw.group].includes(id), true],
    ['search: "an"', (id) => /an/i.test(nameOf(model.groups, id)), true],
    [
      `parent: {id: "${draw.group}"}`,
      (id) => model.subgroups(draw.group).includes(id),
      model.seesGroup(draw.group),
    ],
    [
      `hasMember: {id: "${draw.user}"}`,
      (id) => model.groupsOf(draw.user).includes(id),
      model.seesUser(draw.user),
    ],
  ];
  const [filter, holds, exists] = filters[draw.filter % filters.length] ?? ['', () => true, true];
  if (!exists) return value(`groups(first: 1, filter: {${filter}}) { totalCount }`, NOT_FOUND);
  const ids = model.visibleGroups.map(({ id }) => id).filter(holds);
  const byCount = draw.order % 2 === 1;
  const sign = draw.isDescending ? -1 : 1;
  const place = (id: string) => [sign * model.memberCount(id), nameOf(model.groups, id).toLowerCase()];
  const expected = byCount ? sort(ids, place, false) : byName(model.groups, ids, draw.isDescending);
  const order = `orderBy: {field: ${byCount ? 'MEMBER_COUNT' : 'NAME'}, direction: ${direction(draw)}}`;
  const args = `filter: {${filter}}, ${order}`;
  return list(draw, { parent: '%', field: 'groups', args, node: 'id', expected });
}

function listMembers(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const root = `group(group: {id: "${draw.group}"})`;
  if (!model.seesGroup(draw.group)) return value(`${root} { members(first: 1) { totalCount } }`, NOT_FOUND);
  if (!model.seesMembers(draw.group)) return value(`${root} { members(first: 1) { totalCount } }`, FORBIDDEN);
  const filters: [string, (id: string) => boolean][] = [
    ['', () => true],
    ['search: "an"', (id) => /an/i.test(nameOf(model.people, id))],
    ['role: {is: ADMIN}', (id) => ROLES.indexOf(model.roleOf(id, draw.group)?.value ?? 'MEMBER') > 0],
  ];
  const [filter, holds] = filters[draw.filter % filters.length] ?? ['', () => true];
  const byFamily = draw.order % 2 === 1;
  const expected = sort(
    model.members(draw.group).filter(holds),
    (id) => [byFamily ? familyOf(model, id) : '', nameOf(model.people, id).toLowerCase()],
    draw.isDescending,
  );
  const args = `filter: {${filter}}, orderBy: {field: ${byFamily ? 'FAMILY_NAME' : 'NAME'}, direction: ${direction(draw)}}`;
  return list(draw, { parent: `${root} { % }`, field: 'members', args, node: 'user { id }', expected });
}

function listGroupsOfUser(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const root = `user(user: {id: "${draw.user}"})`;
  if (!model.seesUser(draw.user)) return value(`${root} { id }`, NOT_FOUND);
  const expected = byName(model.groups, model.groupsOf(draw.user), draw.isDescending);
  const args = `orderBy: {field: NAME, direction: ${direction(draw)}}`;
  return list(draw, { parent: `${root} { % }`, field: 'groups', args, node: 'group { id }', expected });
}

function listNested(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const root = `group(group: {id: "${draw.other}"})`;
  if (!model.seesGroup(draw.other)) return value(`${root} { id }`, NOT_FOUND);
  const field = draw.filter % 2 === 0 ? 'parents' : 'subgroups';
  const ids = model[field](draw.other);
  const expected = byName(model.groups, ids);
  return list(draw, { parent: `${root} { % }`, field, args: '', node: 'id', expected });
}

function search(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const text = ['an', 'anna', 'g1', draw.user, draw.group][draw.filter % 5] ?? 'an';
  const found = [...model.visiblePeople, ...model.visibleGroups].filter(
    ({ id, name = '' }) => id.includes(text) || name.toLowerCase().includes(text),
  );
  const distance = ({ id, name = '' }: { id: string; name?: string }) => {
    if (id === text) return 0;
    if (name.toLowerCase().startsWith(text)) return 1;
    return ` ${id} ${name.toLowerCase()}`.includes(` ${text}`) ? 2 : 3;
  };
  const expected = sort(
    found.map(({ id }) => id),
    (id) => {
      const entry = found.find((each) => each.id === id);
      return entry === undefined ? [] : [distance(entry), (entry.name ?? '').toLowerCase()];
    },
    false,
  );
  const node = '... on User { id } ... on Group { id }';
  return list(draw, { parent: '%', field: 'search', args: `query: "${text}"`, node, expected });
}

function findUser({ user, filter }: Draw, model: VisibilityModel): ExpectedOperation {
  const names = [
    `id: "${user}"`,
    `email: "${emailOf(user)}"`,
    `nodeId: "${nodeIdOf('User', uuidOfId(user))}"`,
  ];
  const query = `user(user: {${names[filter % names.length] ?? ''}}) { id phone manager { id } }`;
  if (!model.seesUser(user)) return value(query, NOT_FOUND);
  const manager = model.managerOf(user);
  return value(query, {
    value: { id: user, phone: model.phoneOf(user), manager: manager === null ? null : { id: manager } },
  });
}

function listReports(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const root = `user(user: {id: "${draw.user}"})`;
  if (!model.seesUser(draw.user)) return value(`${root} { reports(first: 1) { totalCount } }`, NOT_FOUND);
  const expected = byName(model.people, model.reportsOf(draw.user), draw.isDescending);
  const args = `orderBy: {field: NAME, direction: ${direction(draw)}}`;
  return list(draw, { parent: `${root} { % }`, field: 'reports', args, node: 'id', expected });
}

function findNodes({ user, group, other }: Draw, model: VisibilityModel): ExpectedOperation {
  const of = (kind: 'User' | 'Group', id: string, isSeen: boolean) => {
    const nodeId = nodeIdOf(kind, uuidOfId(id));
    return { nodeId, node: isSeen ? { nodeId } : null };
  };
  const asked = [
    of('User', user, model.seesUser(user)),
    of('Group', group, model.seesGroup(group)),
    of('Group', other, model.seesGroup(other)),
    of('Group', user, false),
  ];
  const nodeIds = asked.map(({ nodeId }) => `"${nodeId}"`).join();
  return value(`nodes(nodeIds: [${nodeIds}]) { nodeId }`, { value: asked.map(({ node }) => node) });
}

function findGroup({ group }: Draw, model: VisibilityModel): ExpectedOperation {
  const expected = model.seesGroup(group) ? { value: { id: group } } : NOT_FOUND;
  return value(`group(group: {id: "${group}"}) { id }`, expected);
}

function isMember({ user, group, order, isDescending }: Draw, model: VisibilityModel): ExpectedOperation {
  const rank = order % ROLES.length;
  const filter = `role: {is: ${ROLES[rank] ?? ''}, strict: ${isDescending}}`;
  const query = `isMember(user: {id: "${user}"}, group: {id: "${group}"}, ${filter})`;
  if (!model.seesUser(user) || !model.seesGroup(group)) return value(query, NOT_FOUND);
  if (!model.seesMembers(group) && !model.isViewer(user)) return value(query, FORBIDDEN);
  const role = model.roleOf(user, group);
  const held = role === null ? -1 : ROLES.indexOf(role.value);
  return value(query, { value: isDescending ? held === rank : held >= rank });
}

/** One membership, from either side. */
function findMembership(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const { user, group, filter } = draw;
  const query =
    filter % 2 === 0
      ? `group(group: {id: "${group}"}) { membership(user: {id: "${user}"}) { user { id } role { value direct } } }`
      : `user(user: {id: "${user}"}) { membership(group: {id: "${group}"}) { group { id } role { value direct } } }`;
  if (!model.seesUser(user) || !model.seesGroup(group)) return value(query, NOT_FOUND);
  if (!model.seesMembers(group) && !model.isViewer(user)) return value(query, FORBIDDEN);
  const role = model.roleOf(user, group);
  const node = filter % 2 === 0 ? { user: { id: user } } : { group: { id: group } };
  const membership = role && { ...node, role: { value: role.value, direct: role.direct } };
  return value(query, { value: { membership } });
}

/** The memberships of one user in several groups, or of several users in one group. */
function findMemberships(draw: Draw, model: VisibilityModel): ExpectedOperation {
  const { user, group, filter } = draw;
  const isOfUser = filter % 2 === 0;
  const query = isOfUser
    ? `groups(first: 50) { nodes { id membership(user: {id: "${user}"}) { role { value } } } }`
    : `users(first: 50) { nodes { id membership(group: {id: "${group}"}) { role { value } } } }`;
  const rows = (isOfUser ? model.visibleGroups : model.visiblePeople).map(({ id }) => ({
    id,
    pair: isOfUser ? ([user, id] as const) : ([id, group] as const),
  }));
  const isThere = isOfUser ? model.seesUser(user) : model.seesGroup(group);
  if (!isThere && rows.length > 0) return value(query, errorsOf('NOT_FOUND', rows.length));
  const hidden = rows.filter(({ pair: [of, inGroup] }) => !model.seesMembers(inGroup) && !model.isViewer(of));
  if (hidden.length > 0) return value(query, errorsOf('FORBIDDEN', hidden.length));
  const nodes = rows.map(({ id, pair: [of, inGroup] }) => {
    const role = model.roleOf(of, inGroup);
    return { id, membership: role && { role: { value: role.value } } };
  });
  return value(query, { value: { nodes } });
}

/** An error for each row that has none. */
function errorsOf(code: string, count: number): { readonly code: string } {
  return { code: Array.from({ length: count }, () => code).join() };
}

function readRoles({ user }: Draw, model: VisibilityModel): ExpectedOperation {
  const query = `user(user: {id: "${user}"}) {
    groups(first: 50) { nodes { group { id } role { value direct inheritedFrom { id } } } } }`;
  if (!model.seesUser(user)) return value(query, NOT_FOUND);
  const groups = byName(model.groups, model.groupsOf(user));
  const nodes = groups.map((id) => {
    const role = model.roleOf(user, id);
    const inheritedFrom = new Set(model.inheritedFrom(user, id));
    return { group: { id }, role: { value: role?.value, direct: role?.direct, inheritedFrom } };
  });
  return value(query, { value: { groups: { nodes } } });
}

/** As buildLdif writes it. */
function familyOf({ people }: VisibilityModel, id: string): string {
  return people.find((each) => each.id === id)?.familyName ?? id;
}

function value(field: string, expected: ExpectedValue['expected']): ExpectedValue {
  return { kind: 'value', query: `{ found: ${field} }`, expected };
}

function list(
  { pageSize, isBackward, style }: Draw,
  rest: Omit<ExpectedList, 'kind' | 'pageSize' | 'isBackward' | 'style'>,
): ExpectedList {
  return { kind: 'list', ...rest, pageSize, isBackward, style };
}

function direction({ isDescending }: Draw): string {
  return isDescending ? 'DESC' : 'ASC';
}
