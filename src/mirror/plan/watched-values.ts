import { type Field, mappedFields, storedName } from '../../common/field.js';
import type { DirectoryMapping, EntryMapping, RoleMapping } from '../../config/model/mapping.js';
import { AUDIENCE_LEVELS, type AudienceLevel } from '../../config/settings/visibility.js';
import { FIELD_VALUES } from '../../database/fields/field-columns.js';
import { attributesOfFilter, parseFilter } from '../../ldap/filter/filter-parser.js';
import {
  LACKS_ATTRIBUTE_OF_DISABLED,
  type MappedGroup,
  NAMED_AS_ADMIN,
  NAMED_AS_MEMBER,
  NAMED_AS_OWNER,
  type MappedPerson,
} from '../map/snapshot.js';

export type WatchedKind = 'people' | 'groups';

/** What the deletion guard does not let many entries lose at once. */
export interface Watched<Value> {
  /** Identifies it in `revisions.attributes_lost`. */
  readonly key: string;
  /** The object of a sentence. */
  readonly describe: () => string;
  readonly isLacking: (value: Value) => boolean;
  /** SQL condition: the row `e` has it. $1 is the attribute of the name, as in source_values. */
  readonly isHeld: string;
  /** The share that may always lose it. Undefined: that of the settings. */
  readonly leastPercent?: number;
}

/** Users who have all attributes that `disabled` reads become active on purpose, but not most of them at once. */
const PERCENT_ON_PURPOSE = 50;

/** Beginning of the keys of what the rules of visibility do. The keys of attributes begin with a kind. */
export const OF_RULES = 'visibility.';
/** Key of what `users.disabled` does. */
export const OF_DISABLED = 'users.disabled';

export function watchedOfPeople({ users }: DirectoryMapping): Watched<MappedPerson>[] {
  return [
    ownName('people', users.name),
    ...watchedFields<MappedPerson>('people', users.fields),
    ...audiences<MappedPerson>('users', users.rules, 'visible_to', ({ visibleTo }) => visibleTo),
    ...inactivity(users),
  ];
}

export function watchedOfGroups({ groups }: DirectoryMapping): Watched<MappedGroup>[] {
  const ofMembers = ({ membersVisibleTo }: MappedGroup) => membersVisibleTo;
  return [
    ownName('groups', groups.name),
    ...watchedFields<MappedGroup>('groups', groups.fields),
    naming('groups.member', NAMED_AS_MEMBER, groups.members),
    naming('groups.admin', NAMED_AS_ADMIN, groups.admins),
    naming('groups.owner', NAMED_AS_OWNER, groups.owners),
    ...audiences<MappedGroup>('groups', groups.rules, 'visible_to', ({ visibleTo }) => visibleTo),
    ...audiences<MappedGroup>('members', groups.memberRules, 'members_visible_to', ofMembers),
  ];
}

function watchedFields<Value extends MappedPerson | MappedGroup>(
  kind: WatchedKind,
  fields: readonly Field[],
): Watched<Value>[] {
  return mappedFields(fields).map((field) => ({
    key: `${kind}.${field.name}`,
    describe: () => `the attribute ${field.attribute}`,
    isLacking: (value) => (value[storedName(field)] ?? null) === null,
    isHeld: `e.${field.column ?? `${FIELD_VALUES} -> '${storedName(field)}'`} is not null`,
  }));
}

/** The name may be from another attribute because the entry lacks the first one: see SourceValues. */
function ownName<Value extends MappedPerson | MappedGroup>(
  kind: WatchedKind,
  [attribute = '']: readonly string[],
): Watched<Value> {
  return {
    key: `${kind}.name`,
    describe: () => `the attribute ${attribute}`,
    isLacking: ({ sourceValues }) => sourceValues?.[attribute.toLowerCase()]?.length === 0,
    isHeld: `coalesce(e.source_values -> $1::text <> '[]'::jsonb, true)`,
  };
}

/** An attribute with DNs. A group has it if it names any entry there, mirrored or not. */
function naming(key: string, bit: number, { attributes }: RoleMapping): Watched<MappedGroup> {
  const names = (table: string, column: string) =>
    `exists (select from ${table} r where r.${column} = e.key and r.named_as & ${bit} > 0)`;
  return {
    key,
    describe: () => `the attribute ${attributes.join(' or ')}`,
    isLacking: ({ references }) => ![...references.values()].some((namedAs) => (namedAs & bit) > 0),
    isHeld: `(${names('memberships', 'group_key')} or ${names('nestings', 'outer_key')}
      or ${names('unresolved_references', 'group_key')})`,
  };
}

/** Each audience of a list of rules. An entry without the attribute that a rule reads becomes visible to more viewers. */
function audiences<Value>(
  list: 'users' | 'groups' | 'members',
  rules: EntryMapping['rules'],
  column: string,
  levelOf: (value: Value) => AudienceLevel | null | undefined,
): Watched<Value>[] {
  const levels = new Set(rules.map(({ to }) => AUDIENCE_LEVELS[to]));
  const filters = rules.map(({ where }) => where);
  return [...levels].map((level) => ({
    key: `${OF_RULES}${list}.${level}`,
    describe: () => `the effect of ${OF_RULES}${list}${attributesRead(filters)}`,
    isLacking: (value) => (levelOf(value) ?? 0) < level,
    isHeld: `e.${column} >= ${level}`,
  }));
}

function inactivity({ disabled }: EntryMapping): Watched<MappedPerson>[] {
  if (disabled === null) return [];
  const isActive = ({ active }: MappedPerson) => active !== false;
  const watched = {
    describe: () => `the effect of ${OF_DISABLED}${attributesRead([disabled])}`,
    isHeld: 'not e.is_active',
  };
  return [
    {
      ...watched,
      key: OF_DISABLED,
      isLacking: (person) => isActive(person) && person[LACKS_ATTRIBUTE_OF_DISABLED] !== false,
    },
    { ...watched, key: `${OF_DISABLED}.all`, isLacking: isActive, leastPercent: PERCENT_ON_PURPOSE },
  ];
}

function attributesRead(filters: readonly string[]): string {
  const attributes = new Set(filters.flatMap((filter) => attributesOfFilter(parseFilter(filter))));
  return attributes.size === 0 ? '' : ` (${[...attributes].join(', ')})`;
}
