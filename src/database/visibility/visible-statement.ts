import type { KeySeal } from '../../common/key-seal.js';
import type { FieldDefinition } from '../../common/field.js';
import { BUILT_IN_FIELDS } from '../../config/model/build-mapping.js';
import { carriedNames, comparedColumns } from '../fields/projection.js';
import { type RawReader, type Statement, statement } from '../statements/statement.js';
import { type Conditions, conditionsFor } from './conditions.js';
import { ifWrittenWith } from './rules-in-mirror.js';
import { type FixedViewer, selectRoles, type Viewer } from './viewer.js';

/** The mirror, and whether its rules can hide something from some viewers. */
export interface VisibilitySource extends RawReader {
  readonly hides: boolean;
  /** The number of the rules with which the mirror has to be written; 0: there are none. */
  readonly rules: number;
  readonly seal: KeySeal;
}

/** Whether statements for a viewer have relations in front of all tables. Otherwise only the audiences of fields apply. */
export function isRestricted({ hides }: Pick<VisibilitySource, 'hides'>, { limitedTo }: Viewer): boolean {
  return hides || limitedTo !== null;
}

/**
 * A statement and its values, as they are read for a viewer.
 * @param rules those with which the mirror has to be written, by their number; 0: no condition
 */
export function forViewer(
  asked: Statement,
  values: readonly unknown[],
  viewer: Viewer | FixedViewer,
  source: Pick<VisibilitySource, 'hides'>,
  rules = 0,
): [Statement, readonly unknown[]] {
  const isOpen = !isRestricted(source, viewer);
  if (isOpen && asked.readsViewer !== true && asked.readsLog !== true) return [asked, values];
  const variant = variantOf(asked, values.length, viewer, isOpen, viewer.seesHidden ? 0 : rules);
  if (isOpen && asked.readsViewer !== true) return [variant, values];
  const limit = viewer.limitedTo === null ? [] : [viewer.limitedTo];
  return [variant, [...values, ...rolesOf(viewer), ...limit]];
}

/** Statements live as long as their cache. */
const variants = new WeakMap<Statement, Map<string, Statement>>();

/** @param width the number of values of the statement, which those of the viewer follow */
function variantOf(
  asked: Statement,
  width: number,
  viewer: Viewer | FixedViewer,
  isOpen: boolean,
  rules: number,
): Statement {
  const hasRules = !viewer.seesHidden;
  const options = {
    hasRules,
    isLimited: viewer.limitedTo !== null,
    isFixed: 'roles' in viewer,
    isOpen,
    rules,
  };
  const name = [width, ...Object.values(options)].join(' ');
  const known = variants.get(asked) ?? new Map<string, Statement>();
  variants.set(asked, known);
  let variant = known.get(name);
  if (variant === undefined) {
    const { text, returnsRevision } = asked;
    if (/^\s*with\b/i.test(text))
      throw new Error('A statement that is read for a viewer begins with no relations');
    variant = statement(`${visibleTables(asked, width + 1, options)}${text}`, { returnsRevision });
    known.set(name, variant);
  }
  return variant;
}

function rolesOf(viewer: Viewer | FixedViewer): unknown[] {
  if (viewer.seesHidden) return [];
  if (!('roles' in viewer)) return [viewer.id];
  const { key, memberOf, adminOf, ownerOf } = viewer.roles;
  return [key, memberOf, adminOf, ownerOf, viewer.ownOf, viewer.joined];
}

interface TableOptions {
  /** Whether rules apply to the viewer. */
  readonly hasRules: boolean;
  readonly isLimited: boolean;
  /** Whether the roles of the viewer are values, as in a preview, or read from the mirror. */
  readonly isFixed: boolean;
  /** Whether nothing is hidden, so that only the relations of the viewer and of the log are needed. */
  readonly isOpen: boolean;
  /** The number of the rules with which the mirror has to be written; 0: no condition. */
  readonly rules: number;
}

/**
 * SQL that precedes a statement and gives it the tables as a viewer sees them. It has relations with the names of the tables,
 * which hide the tables from the statement, so no statement can read around them. PostgreSQL merges them into the statement:
 * a condition on a level that is 0 for most rows, in the order of the same indexes.
 * @param first the number of the first of the values of the viewer
 */
function visibleTables(
  { text, readsViewer, readsLog }: Statement,
  first: number,
  options: TableOptions,
): string {
  const { hasRules, isLimited, isOpen } = options;
  const viewer = { ...relation('viewer', viewerOf(first, options), true), hasValues: hasRules };
  if (isOpen)
    return relationsOf(text, [...(readsViewer === true ? [viewer] : []), ...(readsLog === true ? LOG : [])]);
  if (!hasRules && !isLimited) return relationsOf(text, [viewer, ...EVERYTHING]);
  return relationsOf(text, [
    viewer,
    ...(isLimited ? [limitedRelation(first + widthOfViewer(options), conditionsFor(hasRules, false))] : []),
    ...['users', 'groups', 'changes'].map((table) => relation(`all_${table}`, `select * from ${table}`)),
    relation('all_memberships', 'select * from effective_memberships'),
    ...tablesOf(conditionsFor(hasRules, isLimited), options),
  ]);
}

/** Number of values of the viewer: the id, or the key and the roles. */
function widthOfViewer({ hasRules, isFixed }: TableOptions): number {
  if (!hasRules) return 0;
  return isFixed ? 1 + ROLES.length : 1;
}

/** The columns of the relation `viewer` after the key, as a FixedViewer has them. */
const ROLES = ['member_of', 'admin_of', 'owner_of', 'own_of', 'joined'];

/** The key and the roles of the viewer, in one row. */
function viewerOf(first: number, { hasRules, isFixed }: TableOptions): string {
  if (hasRules && !isFixed)
    return `select roles.*, roles.member_of as own_of, '{}'::integer[] as joined, false as sees_hidden from (${selectRoles(`$${first}::text`)}) roles`;
  const columns = ROLES.map((name, index) => {
    return `${hasRules ? `$${first + 1 + index}` : 'null'}::integer[] as ${name}`;
  });
  const key = `${hasRules ? `$${first}` : 'null'}::integer as key`;
  return `select ${[key, ...columns, `${String(!hasRules)} as sees_hidden`].join(', ')}`;
}

/**
 * The groups to which the viewer is limited (`groups`), with the groups nested in them, and those of the limit whose members
 * are the users of the viewer (`roots`). Rules apply here too: a group that is hidden, or has hidden members, leads to no
 * other group and to no user.
 */
function limitedRelation(uuids: number, { seesGroup, seesMembers }: Conditions): Relation {
  const named = `from groups g where g.entry_uuid = any ($${uuids}::uuid[]) and ${seesGroup('g')}`;
  const groups = `
    with recursive reach (key, shows) as (
      select g.key, ${seesMembers('g')} ${named}
      union
      select g.key, ${seesMembers('g')}
      from reach r join nestings n on n.outer_key = r.key join groups g on g.key = n.inner_key
      where r.shows and ${seesGroup('g')})
    select r.key from reach r`;
  const roots = `select g.key ${named} and ${seesMembers('g')}`;
  const select = `select array(${roots}) as roots, array(${groups}) as groups`;
  return { ...relation('limited', select, true), hasValues: true };
}

function tablesOf(conditions: Conditions, { hasRules, isLimited, rules }: TableOptions): Relation[] {
  const { seesUser, seesGroup, seesChange } = conditions;
  return [
    table('users', 'u', 'all_users', { group_count: groupCount(conditions, isLimited) }, seesUser('u')),
    table('groups', 'g', 'all_groups', groupColumns(conditions, hasRules), seesGroup('g')),
    memberships(conditions),
    NESTINGS,
    relation('changes', `select c.* from all_changes c where ${seesChange}`),
    isLimited
      ? state(rules, countOf('users'), countOf('groups'), countOf('changes'))
      : state(
          rules,
          `s.user_count - ${countHidden('users', 'h', 'h.visible_to > 0', seesUser('h'))}`,
          `s.group_count - ${countHidden('groups', 'h', 'h.visible_to > 0', seesGroup('h'))}`,
          `s.change_count - ${countHidden('changes', 'c', IS_RESTRICTED, seesChange)}`,
        ),
  ];
}

/** The number of groups that the viewer sees of a user `u`. Hidden ones are counted by their index. */
function groupCount({ seesItsGroup }: Conditions, isLimited: boolean): string {
  if (isLimited)
    return `(select count(*)::integer from all_memberships h where h.user_key = u.key and ${seesItsGroup('h')})`;
  const isHidden = '(h.group_visible_to > 0 or h.group_members_visible_to > 0)';
  return `u.group_count - ${countHidden('memberships', 'h', `h.user_key = u.key and ${isHidden}`, seesItsGroup('h'))}`;
}

/** A group whose members the viewer does not see counts as empty, so that the order by the count discloses nothing. */
function groupColumns({ seesMembers, seesItsUser }: Conditions, hasRules: boolean): Record<string, string> {
  const hidden = countHidden(
    'memberships',
    'h',
    'h.group_key = g.key and h.user_visible_to > 0',
    seesItsUser('h'),
  );
  return {
    member_count: `case when ${seesMembers('g')} then g.member_count - ${hidden} else 0 end`,
    members_visible_to: `case when ${seesMembers('g')} then 0 else g.members_visible_to end`,
    // An index has this expression.
    ...(hasRules && { updated_at: 'coalesce(g.shown_updated_at, g.updated_at)' }),
  };
}

function memberships({ seesGroup, seesMembers, seesMembership, seesItsMembers }: Conditions): Relation {
  const computed = {
    inherited_from: `array(
      select i.key from unnest(m.inherited_from) with ordinality i (key, place) join all_groups g on g.key = i.key
      where ${seesGroup('g')} and ${seesMembers('g')} order by i.place)`,
    group_members_visible_to: `case when ${seesItsMembers('m')} then 0 else m.group_members_visible_to end`,
  };
  return table('effective_memberships', 'm', 'all_memberships', computed, seesMembership('m'));
}

/** A group inside another one is a member of it. */
const NESTINGS = relation(
  'nestings',
  `select n.* from nestings n
  where exists (select from groups o where o.key = n.outer_key and o.members_visible_to = 0)
    and exists (select from groups i where i.key = n.inner_key)`,
);

/** The condition of the index of changes that not everyone sees. */
const IS_RESTRICTED =
  '(c.user_visible_to > 0 or c.group_visible_to > 0 or c.members_visible_to > 0 or c.outside_of > 0)';

/**
 * For a viewer who sees what rules hide, or where none do. Changes of the time when something was hidden are recorded twice: for
 * those inside and outside an audience.
 */
const LOG = [
  relation('all_changes', 'select * from changes'),
  relation('changes', 'select c.* from all_changes c where c.outside_of = 0'),
  state(
    0,
    's.user_count',
    's.group_count',
    `s.change_count - (select count(*)::integer from all_changes c where ${IS_RESTRICTED} and c.outside_of > 0)`,
  ),
];

const EVERYTHING = [
  ...LOG,
  table('groups', 'g', 'groups', { member_count: 'g.member_count', members_visible_to: '0' }, 'true'),
  table(
    'effective_memberships',
    'm',
    'effective_memberships',
    { inherited_from: 'm.inherited_from', group_members_visible_to: '0' },
    'true',
  ),
];

function countHidden(relationName: string, alias: string, condition: string, sees: string): string {
  return `(
      select count(*)::integer from all_${relationName} ${alias} where ${condition} and (${sees}) is not true)`;
}

function countOf(name: string): string {
  return `(select count(*)::integer from ${name})`;
}

function state(rules: number, users: string, groups: string, changes: string): Relation {
  const computed = {
    revision_uuid: ifWrittenWith(rules, 's.revision_uuid'),
    user_count: users,
    group_count: groups,
    change_count: changes,
  };
  return table('mirror_state', 's', 'mirror_state', computed, 'true');
}

const OF_ENTRIES = [
  ...['key', 'entry_uuid', 'id_folded', 'sort_name', 'name_letters', 'search_text', 'search_pairs'],
  ...['field_values', 'visible_to'],
];

/** The columns that relations of this module repeat; the others have values that depend on the viewer. */
export const COLUMNS = {
  get users() {
    return [...OF_ENTRIES, 'family_sort_name', ...columnsOf(BUILT_IN_FIELDS.users)];
  },
  get groups() {
    return [...OF_ENTRIES, 'shown_updated_at', ...columnsOf(BUILT_IN_FIELDS.groups)];
  },
  get effective_memberships() {
    const carried = (prefix: string, fields: readonly FieldDefinition[]) =>
      ['key', 'sort_name', 'visible_to', ...carriedNames(fields)].map((name) => `${prefix}${name}`);
    return [
      ...['role', 'direct_role'],
      ...carried('user_', BUILT_IN_FIELDS.users),
      ...carried('group_', BUILT_IN_FIELDS.groups),
    ];
  },
  mirror_state: [
    ...['only_row', 'state', 'as_of', 'reason', 'blocked_plan', 'source_fingerprint'],
    ...['revision', 'changes_pruned_to', 'cursor_key', 'leader', 'mode', 'refusals', 'context_csns'],
    'read_whole_at',
  ],
};

function columnsOf(fields: readonly FieldDefinition[]): string[] {
  return fields.flatMap((field) => [
    ...(field.column === null ? [] : [field.column]),
    ...comparedColumns(field),
  ]);
}

/** A relation with the name of a table, and those of its columns that are used. */
function table(
  name: keyof typeof COLUMNS,
  alias: string,
  from: string,
  computed: Readonly<Record<string, string>>,
  condition: string,
): Relation {
  return {
    name,
    select: (words) => {
      const stored = COLUMNS[name].map((column): [string, string] => [column, `${alias}.${column}`]);
      const columns = new Map([...stored, ...Object.entries(computed)]);
      const mentioned = [...columns].filter(([column]) => words.has(column));
      const selected = mentioned.map(([column, sql]) => `${sql} as ${column}`);
      return `select ${selected.join(', ')}\n  from ${from} ${alias}\n  where ${condition}`;
    },
  };
}

/** A relation in front of a statement. */
interface Relation {
  readonly name: string;
  readonly isMaterialized?: true;
  /** Whether it has values of the viewer, all of which have to occur in the statement. */
  readonly hasValues?: boolean;
  /** @param words those of the statement and of the relations behind this one */
  readonly select: (words: ReadonlySet<string>) => string;
}

/**
 * The relations whose names occur in a statement, with the columns whose names occur. PostgreSQL visits all of them at each
 * execution, also those that it does not use.
 */
function relationsOf(text: string, relations: readonly Relation[]): string {
  const words = new Set<string>();
  const note = (sql: string) => sql.match(/\w+/g)?.forEach((word) => words.add(word.toLowerCase()));
  note(text);
  const chosen: string[] = [];
  // A relation can only mention those before it.
  for (const { name, isMaterialized, hasValues, select } of [...relations].reverse()) {
    if (!words.has(name) && hasValues !== true) continue;
    const sql = select(words);
    note(sql);
    chosen.unshift(`${name} as ${isMaterialized === true ? '' : 'not '}materialized (\n  ${sql})`);
  }
  return chosen.length === 0 ? '' : `with ${chosen.join(',\n')}\n`;
}

function relation(name: string, select: string, isMaterialized?: true): Relation {
  return { name, select: () => select, ...(isMaterialized && { isMaterialized }) };
}
