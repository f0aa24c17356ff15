import { BadUserInputError, NotFoundError } from '../common/errors.js';
import type { DirectoryMapping, MemberForm, RoleMapping } from '../config/model/mapping.js';
import { GroupRole, rankOf, roleOf } from '../groups/group.model.js';
import { attributeKey } from '../ldap/entry.js';
import type { AttributeValues, ChangeRecord } from '../ldap/ldif/ldif-record.js';
import { escapeDnValue } from '../ldap/naming/dn.js';
import { type NamedAs, namedBy, rankOfNaming, type RoleSum, rolesOfNaming } from '../sources/references.js';
import * as records from './records.js';
import type { NewGroup } from './values.js';

type GroupMapping = DirectoryMapping['groups'];

export interface MirroredGroup extends records.MirroredEntry {
  /** The audience of its members. 0: everyone who may see the group. */
  readonly membersVisibleTo: number;
  /** Number of values of the form that its class requires, up to two: users, groups, and DNs that name no mirrored entry. */
  readonly memberValues: number;
  /** As for members, of the form with a single value. */
  readonly ownerValues: number;
}

/** What a group names. */
export type NamedEntry = Pick<records.MirroredEntry, 'kind' | 'dn' | 'uuid' | 'id'>;

/** The group does not name the entry. */
export const NOT_NAMED: NamedAs = 0;

/** How a user belongs to a group. */
interface StoredMembership {
  /** The attributes by which the group names the user. */
  readonly namedAs: NamedAs;
  /** The effective role. Null: the user is not a member of the group. */
  readonly role: GroupRole | null;
  /** Whether an attribute of the user names the group: its primary group, for example. */
  readonly isNamedByUser: boolean;
}

export type MembershipChange = 'add' | 'update' | 'remove';

/** The roles after a change (pure). With a higher one, the lower ones stay, so that the group keeps a member. @throws ServiceError */
export function namingAfter(
  { namedAs, role: effective, isNamedByUser }: StoredMembership,
  change: MembershipChange,
  role: GroupRole,
): RoleSum {
  const isAdded = change === 'add';
  const refused = (message: string) => records.conflict(message, 'user');
  if (isNamedByUser && (isAdded ? role === GroupRole.MEMBER : namedAs === NOT_NAMED))
    throw refused(
      'The user belongs to the group by an attribute of the user, such as the primary group: it has to be changed instead',
    );
  if (isAdded && namedAs !== NOT_NAMED)
    throw refused(`The group names this user already, as ${roleOfNaming(namedAs)}: use updateGroupMember`);
  if (!isAdded && namedAs === NOT_NAMED && effective === null)
    throw new NotFoundError('The user is not in the group', 'user');
  if (!isAdded && namedAs === NOT_NAMED)
    throw refused(
      'The group does not name this user: the user belongs to it through a group inside it, which has to be changed instead',
    );
  if (change === 'remove') return NOT_NAMED;
  if (!isAdded && roleOfNaming(namedAs) === role)
    throw new BadUserInputError(`The group names this user as ${role} already`, 'role');
  const sum = 1 << (rankOf(role) - 1);
  return (rolesOfNaming(namedAs) & (sum - 1)) | sum;
}

export function roleOfNaming(namedAs: NamedAs): GroupRole {
  return roleOf(rankOfNaming(namedAs));
}

/**
 * Changes how a group names a user or a nested group (pure): in no form of a role that ends, and in the first possible one of a new
 * role. Of the attributes of members, those after the change have the values that name this entry only.
 * @throws ServiceError CONFLICT when the directory allows no such group, or has no definite value or attribute for the change
 */
export function changeNames(
  group: MirroredGroup,
  named: NamedEntry,
  before: NamedAs,
  after: RoleSum,
  mapping: DirectoryMapping,
): records.ChangedEntry {
  const { groups } = mapping;
  const classes = records.classesOf(group);
  const roles = [groups.members, groups.admins, groups.owners];
  const heldFor = (sum: RoleSum) =>
    roles.flatMap((forms, index) =>
      forms.filter(({ by }) => (before & namedBy(by, sum & (1 << index))) !== 0),
    );
  const missing = after & ~rolesOfNaming(before);
  const held = heldFor(~NOT_NAMED);
  const added = roles.filter((_, index) => (missing & (1 << index)) !== 0);
  const wanted = [...heldFor(after), ...added.map((forms) => formOfNew(classes, forms, named))];
  const required = requiredForm(groups);
  if (required !== undefined && has(held, required) && !has(wanted, required) && group.memberValues <= 1)
    throw records.conflict(
      `The group ${group.id} names no other member that this token can see, and the directory requires at ` +
        'least one: add a member first, or delete the group',
    );
  const single = singleForm(groups);
  if (single !== undefined && group.ownerValues > 0 && has(wanted, single) && !has(held, single))
    throw records.conflict(
      `The group ${group.id} has another owner, and the directory allows one (${single.attributes.join()}): change the ` +
        'role of that owner first',
      'role',
    );
  const namesIn = (forms: RoleMapping) =>
    forms.map((form) => [attributeOf(classes, form, !has(wanted, form)), nameIn(form, named)] as const);
  const former = namesIn(held);
  const emptied = former.map(([attribute]) => [attribute] as const);
  const entry = { ...group, attributes: { ...group.attributes, ...records.rawOf(collect(former)) } };
  return records.changeValues(entry, collect([...emptied, ...namesIn(wanted)]), mapping);
}

function has(forms: RoleMapping, { by, attributes: [first = ''] }: MemberForm): boolean {
  return forms.some((each) => each.by === by && records.isSame(each.attributes[0] ?? '', first));
}

/** The values of each attribute, each once. */
function collect(given: readonly (readonly [attribute: string, ...values: string[]])[]): AttributeValues[] {
  const all = new Map<string, AttributeValues>();
  for (const [attribute, ...values] of given) {
    const known = all.get(attributeKey(attribute)) ?? { attribute, values: [] };
    all.set(attributeKey(attribute), { ...known, values: [...new Set([...known.values, ...values])] });
  }
  return [...all.values()];
}

/** The value that names an entry. */
function nameIn({ by }: MemberForm, { kind, dn, id, uuid }: NamedEntry): string {
  if (by !== 'id') return by === 'uuid' ? uuid : dn;
  if (kind === 'person') return id;
  throw records.conflict('Groups of this directory name users by id, and cannot contain groups');
}

/** Which of several attributes has a value is not known, unless the classes of the group permit only one. */
function attributeOf(classes: readonly string[], { attributes }: MemberForm, isGone = false): string {
  const possible = attributes.filter((each) => canHave(classes, each));
  // If it can have none, another class has to allow them all.
  const [attribute = '', ...others] = possible.length === 0 ? attributes : possible;
  if (!isGone || others.length === 0) return attribute;
  throw records.conflict(
    `The directory names members in ${[attribute, ...others].join(' or ')}: remove the value there`,
  );
}

/** The classes that allow the usual attributes of members, in lower case. */
const CLASS_OF_MEMBERS: Readonly<Record<string, string>> = {
  member: 'groupofnames',
  uniquemember: 'groupofuniquenames',
  memberuid: 'posixgroup',
};
/** The classes that require a member (RFC 4519 §3.5 and §3.6). */
const REQUIRES_MEMBER = /^groupOf(Unique)?Names$/i;

/** Whether a group with these classes can have an attribute of members, as far as the classes are known. */
function canHave(classes: readonly string[], attribute: string): boolean {
  const allowing = CLASS_OF_MEMBERS[attribute.toLowerCase()];
  if (allowing === undefined) return true;
  // One of these classes, or classes that are all known, say which attributes the group has. Other classes can allow each of them.
  const isKnown = records.areStandard(classes) || classes.some((each) => REQUIRES_MEMBER.test(each));
  return (
    !isKnown ||
    classes.some((each) => records.isSame(each, allowing) || records.isSame(each, 'extensibleObject'))
  );
}

/** The form in which a group names another entry: the first that it can have, or else the first. An id names only users. */
function formOfNew(classes: readonly string[], forms: RoleMapping, { kind }: NamedEntry): MemberForm {
  const usable = forms.filter(({ by }) => kind === 'person' || by !== 'id');
  const possible = usable.find(({ attributes }) => attributes.some((each) => canHave(classes, each)));
  const form = possible ?? usable[0] ?? forms[0];
  if (form === undefined)
    throw records.conflict('Groups of this directory have no attribute for this role', 'role');
  return form;
}

/** The form of members with at least one value: its attributes have DNs. Undefined: groups of this directory can be empty. */
export function requiredForm({ classes, mayBeEmpty, members }: GroupMapping): MemberForm | undefined {
  if (mayBeEmpty === true || !classes.some((each) => REQUIRES_MEMBER.test(each))) return undefined;
  return members.find(({ by }) => by === 'dn') ?? members[0];
}

/** The form of owners with at most one value. Undefined: groups can have several owners. */
export function singleForm({ owners }: GroupMapping): MemberForm | undefined {
  return owners.find(({ isSingle }) => isSingle);
}

/** The records that remove the name of a group from other groups, and then the group (pure). @throws ServiceError CONFLICT */
export function buildGroupDeletion(
  group: records.MirroredEntry,
  outer: readonly { group: MirroredGroup; namedAs: NamedAs }[],
  mapping: DirectoryMapping,
): ChangeRecord[] {
  const others = outer.map((each) => changeNames(each.group, group, each.namedAs, NOT_NAMED, mapping).record);
  return [...others, { dn: group.dn, changetype: 'delete' }];
}

/**
 * The record that creates a group (pure).
 * @param creator the user who becomes its owner and first member. Null: the group has no owner; if its class requires a member, the
 * group names itself, which does not count as a member
 * @throws ServiceError CONFLICT when the directory cannot have such a group
 */
export function buildNewGroup(
  group: NewGroup,
  creator: NamedEntry | null,
  { groups }: DirectoryMapping,
): records.ChangedEntry {
  const { classes, id, namingAttribute = id, bases } = groups;
  const dn = `${namingAttribute}=${escapeDnValue(group.id)},${bases[0] ?? ''}`;
  const nameAttribute = nameAttributeOf(group, groups);
  const values = collect([
    ['objectClass', ...classes],
    [id, group.id],
    ...(nameAttribute === null ? [] : [[nameAttribute, group.name ?? ''] as const]),
    // Every class of groups requires it (RFC 4519 §3.5), regardless of the attribute that holds the id.
    ...(records.isSame(nameAttribute ?? '', 'cn') ? [] : [['cn', group.id] as const]),
    ...fieldsOfNew(group, groups),
    ...namesOfNew(dn, creator, groups),
  ]);
  return { record: { dn, changetype: 'add', attributes: values }, attributes: records.rawOf(values) };
}

function fieldsOfNew(group: NewGroup, { fields, classes }: GroupMapping): [string, string][] {
  return fields.flatMap(({ name, attribute, change }) => {
    const value = group[name] ?? null;
    if (name === 'name' || change === undefined || value === null) return [];
    if (records.lacksAttribute(classes, attribute))
      throw records.conflict(`The classes of new groups have no attribute ${attribute} for ${name}`, name);
    return [[attribute, value]];
  });
}

/** The creator, or else the group itself if its class requires a member. A directory without an attribute for owners has none. */
function namesOfNew(dn: string, creator: NamedEntry | null, groups: GroupMapping): [string, string][] {
  const { classes, members, owners } = groups;
  const required = requiredForm(groups);
  const named = creator ?? { kind: 'group' as const, dn, id: '', uuid: '' };
  const self = required?.by === 'dn' ? [[required]] : [];
  const roles = creator === null ? self : [owners, required === undefined ? members : [required]];
  return roles.flatMap((forms) => {
    if (forms.length === 0) return [];
    const form = formOfNew(classes, forms, named);
    return [[attributeOf(classes, form), nameIn(form, named)]];
  });
}

/** The attribute to which the name is written. Null: the name is read from an attribute that has the id. */
function nameAttributeOf(group: NewGroup, mapping: GroupMapping): string | null {
  const { id, namingAttribute = id, classes } = mapping;
  const [attribute = '', ...others] = mapping.name;
  const isInId = others.some((each) => records.isSame(each, 'cn') || records.isSame(each, id));
  const isAbsent = isInId && records.lacksAttribute(classes, attribute);
  if (
    (isAbsent || records.isSame(attribute, id) || records.isSame(attribute, namingAttribute)) &&
    group.name !== group.id
  )
    throw records.conflict('In this directory the name of a group is its id', 'name');
  return isAbsent ? null : attribute;
}
