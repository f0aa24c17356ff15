import type { SelectedFields } from '../common/page.js';
import { CurrentGroupMembershipInheritance } from './membership.model.js';
import { roleOf } from './role.js';

/** One side of memberships as pages of the other side show it: a model, and where its properties are read. */
export interface ShownSide {
  /** The field of a membership that shows it. */
  readonly field: 'user' | 'group';
  /** Its own list of memberships, in which it is shown again. */
  readonly list: 'groups' | 'members';
  /** Every property of the model, by its name. What memberships carry is read from them (m). */
  readonly columns: Readonly<Record<string, string>>;
  /** What other fields than properties are made of. */
  readonly needs: Readonly<Record<string, readonly string[]>>;
}

export const SHOWN_USER: ShownSide = {
  field: 'user',
  list: 'groups',
  columns: {
    key: 'm.user_key',
    id: 'm.user_id',
    name: 'm.user_name',
    givenName: 'u.given_name',
    familyName: 'u.family_name',
    email: 'u.email',
    schoolYear: 'm.user_school_year',
    hasPhoto: 'm.user_has_photo',
    hasPicture: 'm.user_has_picture',
    createdAt: 'u.created_at',
    updatedAt: 'u.updated_at',
  },
  needs: {
    __typename: [],
    photo: ['key', 'id', 'hasPhoto'],
    picture: ['key', 'id', 'hasPicture'],
    groups: ['key'],
  },
};

export const SHOWN_GROUP: ShownSide = {
  field: 'group',
  list: 'members',
  columns: {
    key: 'm.group_key',
    id: 'm.group_id',
    name: 'm.group_name',
    description: 'g.description',
    website: 'g.website',
    email: 'g.email',
    createdAt: 'g.created_at',
    updatedAt: 'g.updated_at',
  },
  needs: { __typename: [], members: ['key'], parents: ['key'], subgroups: ['key'] },
};

/** People and groups where they are listed themselves: read from their own tables. */
export const LISTED_USER: ShownSide = {
  ...SHOWN_USER,
  columns: {
    ...SHOWN_USER.columns,
    key: 'u.key',
    id: 'u.id',
    name: 'u.name',
    schoolYear: 'u.school_year',
    hasPhoto: 'u.photo is not null',
    hasPicture: 'u.picture is not null',
  },
};

export const LISTED_GROUP: ShownSide = {
  ...SHOWN_GROUP,
  columns: { ...SHOWN_GROUP.columns, key: 'g.key', id: 'g.id', name: 'g.name' },
};

/** Those of the columns that are instants. */
export const INSTANTS = ['u.created_at', 'u.updated_at', 'g.created_at', 'g.updated_at'];

/** The role in a membership, likewise. */
const ROLE: Pick<ShownSide, 'columns' | 'needs'> = {
  columns: { value: 'm.role', direct: 'm.direct_role', inheritedFrom: 'm.inherited_from' },
  needs: { __typename: [] },
};

/** What is read of memberships, property by property. */
export interface Shown {
  /** Of the role. */
  readonly role: readonly string[];
  /** Of whoever or whatever is listed. */
  readonly listed: readonly string[];
  /** Where all of them are read, those of the role first. */
  readonly columns: readonly string[];
}

/** A role with everything about it, and nothing else. */
export const WHOLE_ROLE: Shown = {
  role: Object.keys(ROLE.columns),
  listed: [],
  columns: Object.values(ROLE.columns),
};

/** Selections are kept with their documents, and asked about again and again. */
const known = { user: new WeakMap<SelectedFields, Shown>(), group: new WeakMap<SelectedFields, Shown>() };

/**
 * What of memberships has to be read for what is selected of them, and no more.
 * @param side the one that is listed
 */
export function shownOf(side: ShownSide, membership: SelectedFields): Shown {
  let shown = known[side.field].get(membership);
  if (shown === undefined) {
    const role = propertiesOf(ROLE, membership.get('role')?.keys() ?? []);
    const listed = propertiesOf(side, namesOf(side, membership.get(side.field)));
    shown = { role, listed, columns: [...columnsOf(ROLE, role), ...columnsOf(side, listed)] };
    known[side.field].set(membership, shown);
  }
  return shown;
}

/**
 * What has to be read where people and groups are listed together: fields may be of either, and what one kind does not
 * have is not asked of it.
 */
export function listedAmong(side: ShownSide, other: ShownSide, fields: SelectedFields): Shown {
  const own = [...fields].filter(([name]) => hasField(side, name) || !hasField(other, name));
  return listedOf(side, new Map(own));
}

function hasField({ columns, needs }: ShownSide, name: string): boolean {
  return name in columns || name in needs;
}

/** What of people or groups that are listed themselves has to be read for what is selected of them. */
export function listedOf(side: ShownSide, fields: SelectedFields): Shown {
  const listed = propertiesOf(side, namesOf(side, fields));
  return { role: [], listed, columns: columnsOf(side, listed) };
}

/** The properties behind fields; behind one that we know nothing of, all. */
function propertiesOf(
  { columns, needs }: Pick<ShownSide, 'columns' | 'needs'>,
  fields: Iterable<string>,
): string[] {
  const all = Object.keys(columns);
  const needed = new Set([...fields].flatMap((field) => needs[field] ?? (all.includes(field) ? field : all)));
  return all.filter((property) => needed.has(property));
}

function columnsOf({ columns }: Pick<ShownSide, 'columns'>, properties: readonly string[]): string[] {
  return properties.map((property) => columns[property] ?? 'null');
}

/** The fields of somebody or something, also of where their own list shows them once more: it is the same object. */
function* namesOf(side: ShownSide, fields: SelectedFields | undefined): Generator<string> {
  if (fields === undefined) return;
  yield* fields.keys();
  const list = fields.get(side.list);
  for (const node of [list?.get('nodes'), list?.get('edges')?.get('node')])
    yield* namesOf(side, node?.get(side.field));
}

/** The role in a row, with what was read of it. */
export function roleIn(row: readonly unknown[], shown: Shown): CurrentGroupMembershipInheritance {
  const role = new CurrentGroupMembershipInheritance();
  shown.role.forEach((property, index) => {
    if (property === 'value') role.value = roleOf(row[index] as number);
    else if (property === 'direct') role.direct = row[index] === null ? null : roleOf(row[index] as number);
    else role.inheritedFromKeys = row[index] as number[];
  });
  return role;
}

/** Whoever or whatever is listed in a row, with what was read of it. */
export function listedIn<Model extends object>(
  row: readonly unknown[],
  { role, listed }: Shown,
  model: Model,
): Model {
  listed.forEach((property, index) => {
    (model as Record<string, unknown>)[property] = row[role.length + index];
  });
  return model;
}
