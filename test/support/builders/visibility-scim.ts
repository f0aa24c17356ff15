import { ENTERPRISE_URN, FIELDS_URN, GROUP_FIELDS_URN, type Json } from '../clients/scim.js';
import { PHONES, uuidOfId } from './visibility-directory.js';
import type { VisibilityModel } from './visibility-model.js';
import { byName, type Draw, emailOf, nameOf, sort } from './visibility-previews.js';

/** A request by SCIM, and what the viewer gets: the resources of all pages, or one. Ids are those of the directory. */
export interface ExpectedScim {
  readonly kind: 'scim';
  readonly path: string;
  readonly parameters: Record<string, string>;
  readonly expected:
    { readonly ids: readonly string[] } | { readonly resource: Json } | { readonly status: number };
  /** By what the resources of a list are in order. Those with equal keys may be in any order. */
  readonly keyOf: (id: string) => string;
  readonly pageSize: number;
  readonly isByCursor: boolean;
}

const PHONE = `${FIELDS_URN}:phone`;
/** Sorts behind every phone number. */
const NO_PHONE = '~';

export function scimUsers(draw: Draw, model: VisibilityModel): ExpectedScim {
  const [user, group] = [draw.user, draw.group];
  const filters: [string, (id: string) => boolean][] = [
    ['userName pr', () => true],
    ['displayName co "AN"', (id) => /an/i.test(nameOf(model.people, id))],
    [`emails.value eq "${emailOf(user)}" or id eq "${uuidOfId('p2')}"`, (id) => [user, 'p2'].includes(id)],
    [`not (userName eq "${user}")`, (id) => id !== user],
    [`groups.value eq "${uuidOfId(group)}"`, (id) => model.members(group).includes(id)],
    [`not (groups[value eq "${uuidOfId(group)}"])`, (id) => !model.members(group).includes(id)],
    [
      `groups[value eq "${uuidOfId(group)}" or value eq "${uuidOfId('g1')}"]`,
      (id) => [group, 'g1'].some((each) => model.members(each).includes(id)),
    ],
    ['groups pr', (id) => model.groupsOf(id).length > 0],
    ...PHONES.map((phone): [string, (id: string) => boolean] => [
      `${PHONE} eq "${phone}"`,
      (id) => model.phoneOf(id) === phone,
    ]),
    [`not (${PHONE} pr) and active eq true`, (id) => model.phoneOf(id) === null],
  ];
  const orders: [string, (id: string) => string][] = [
    ['userName', (id) => id],
    ['displayName', (id) => nameOf(model.people, id).toLowerCase()],
    [PHONE, (id) => model.phoneOf(id) ?? NO_PHONE],
  ];
  return list(draw, '/Users', pick(filters, draw.filter), pick(orders, draw.order), model.visiblePeople);
}

export function scimGroups(draw: Draw, model: VisibilityModel): ExpectedScim {
  const { user } = draw;
  /** A filter by members compares what the resource has: none where they are hidden, also from one of them. */
  const hasMember = (id: string) => model.seesMembers(id) && model.groupsOf(user).includes(id);
  const filters: [string, (id: string) => boolean][] = [
    ['displayName pr', () => true],
    ['displayName sw "an"', (id) => /^an/i.test(nameOf(model.groups, id))],
    [`members.value eq "${uuidOfId(user)}"`, hasMember],
    [`not (members.value eq "${uuidOfId(user)}")`, (id) => !hasMember(id)],
    ['members pr', (id) => model.seesMembers(id) && model.members(id).length > 0],
  ];
  const byDisplayName = ['displayName', (id: string) => nameOf(model.groups, id).toLowerCase()] as const;
  return list(draw, '/Groups', pick(filters, draw.filter), byDisplayName, model.visibleGroups);
}

export function scimUser(draw: Draw, model: VisibilityModel): ExpectedScim {
  const id = draw.user;
  if (!model.seesUser(id)) return one(draw, '/Users', id, { status: 404 });
  const groups = byName(model.groups, model.groupsOf(id)).map(
    (each) => `${uuidOfId(each)} ${isDirect(model, id, each) ? 'direct' : 'indirect'}`,
  );
  const manager = model.managerOf(id);
  const resource = {
    ...{ name: id, display: nameOf(model.people, id), email: emailOf(id), phone: model.phoneOf(id), groups },
    manager: manager === null ? null : uuidOfId(manager),
    members: [],
  };
  return one(draw, '/Users', id, { resource });
}

export function scimGroup(draw: Draw, model: VisibilityModel): ExpectedScim {
  const id = draw.group;
  if (!model.seesGroup(id)) return one(draw, '/Groups', id, { status: 404 });
  const members = model.seesMembers(id) ? byName(model.people, model.members(id)) : [];
  const resource = {
    ...{ name: id, display: nameOf(model.groups, id), email: null, phone: null, groups: [], manager: null },
    members: members.map((each) => `${uuidOfId(each)} User`),
  };
  return one(draw, '/Groups', id, { resource });
}

/** What is compared of a resource that was found. */
export function seenIn(body: Json): Json {
  const { userName, displayName, emails, groups = [], members = [] } = body as unknown as FoundResource;
  const {
    [FIELDS_URN]: fields,
    [GROUP_FIELDS_URN]: ofGroup,
    [ENTERPRISE_URN]: enterprise,
  } = body as FoundFields;
  return {
    ...{ name: userName ?? ofGroup?.id, display: displayName, email: emails?.[0]?.value ?? null },
    ...{ phone: fields?.phone ?? null, groups: groups.map(({ value, type }) => `${value} ${type}`) },
    manager: enterprise?.manager?.value ?? null,
    members: members.map(({ value, type }) => `${value} ${type}`),
  };
}

interface FoundResource {
  readonly userName?: string;
  readonly displayName: string;
  readonly emails?: readonly { readonly value: string }[];
  readonly groups?: readonly { readonly value: string; readonly type: string }[];
  readonly members?: readonly { readonly value: string; readonly type: string }[];
}

type FoundFields = Record<
  string,
  { readonly id?: string; readonly phone?: string; readonly manager?: { readonly value: string } } | undefined
>;

function isDirect(model: VisibilityModel, user: string, group: string): boolean {
  return (model.roleOf(user, group)?.direct ?? null) !== null;
}

function pick<Item>(items: readonly Item[], number: number): Item {
  const item = items[number % items.length];
  if (item === undefined) throw new Error('There is nothing to pick');
  return item;
}

function one(draw: Draw, path: string, id: string, expected: ExpectedScim['expected']): ExpectedScim {
  const { pageSize } = draw;
  const rest = { parameters: {}, keyOf: () => '', pageSize, isByCursor: false };
  return { kind: 'scim', path: `${path}/${uuidOfId(id)}`, expected, ...rest };
}

function list(
  { isDescending, isBackward, pageSize }: Draw,
  path: string,
  [filter, holds]: readonly [string, (id: string) => boolean],
  [sortBy, keyOf]: readonly [string, (id: string) => string],
  entries: readonly { readonly id: string }[],
): ExpectedScim {
  const visible = entries.map(({ id }) => id).filter(holds);
  const ids = sort(visible, (id) => [keyOf(id)], isDescending);
  const parameters = { filter, sortBy, sortOrder: isDescending ? 'descending' : 'ascending' };
  return { kind: 'scim', path, parameters, expected: { ids }, keyOf, pageSize, isByCursor: isBackward };
}
