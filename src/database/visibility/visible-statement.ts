import { type Statement, statement } from '../statements/statement.js';
import { ALWAYS, type Conditions, conditionsFor } from './conditions.js';
import { ifWrittenWith } from './rules-in-mirror.js';
import { type FixedViewer, isRestricted, selectRoles, type Viewer } from './viewer.js';

/** What the relations in front of a statement depend on. */
interface ViewerKind {
  /** Whether the viewer sees what rules hide. Otherwise its id or its roles are values of the statement. */
  readonly seesHidden: boolean;
  /** Whether the roles of the viewer are values, as in a preview, or read from the mirror. */
  readonly isFixed: boolean;
  /** Whether rules can hide something from the viewer. */
  readonly hasRules: boolean;
  readonly isLimited: boolean;
  /** The number of the rules with which the mirror has to be written; 0: no condition. */
  readonly rules: number;
}

/** The variants of a statement, which live as long as the statement, by the number of its values and the kind of viewer. */
const variants = new WeakMap<Statement, Map<string, Statement>>();

/** A statement and its values, as they are read for a viewer. */
export function forViewer(
  asked: Statement,
  values: readonly unknown[],
  viewer: Viewer | FixedViewer,
  hides: boolean,
  rules = 0,
): [Statement, readonly unknown[]] {
  const { seesHidden, limitedTo } = viewer;
  const restricts = isRestricted(viewer, hides);
  if (!restricts && !asked.readsViewer && !asked.readsLog) return [asked, values];
  const kind: ViewerKind = {
    ...{ seesHidden, isFixed: 'joined' in viewer, hasRules: restricts && !seesHidden },
    ...{ isLimited: limitedTo !== null, rules: seesHidden ? 0 : rules },
  };
  const known = variants.get(asked) ?? new Map<string, Statement>();
  variants.set(asked, known);
  const name = `${values.length} ${Object.values(kind).join(' ')}`;
  let variant = known.get(name);
  if (variant === undefined) {
    const { text, returnsRevision } = asked;
    if (/^\s*with\b/i.test(text))
      throw new Error('A statement that is read for a viewer begins with no relations');
    const tables = relationsOf(text, visibleTables(kind, values.length + 1));
    variant = statement(`${tables}${text}`, { returnsRevision });
    known.set(name, variant);
  }
  return [variant, [...values, ...(limitedTo === null ? [] : [limitedTo]), ...rolesOf(viewer)]];
}

/** The columns of the relation `viewer` after the key, as rolesOf has their values. */
const ROLES = ['member_of', 'admin_of', 'owner_of', 'own_of', 'joined'];

function rolesOf(viewer: Viewer | FixedViewer): unknown[] {
  if (viewer.seesHidden) return [];
  if (!('joined' in viewer)) return [viewer.id];
  const { key, memberOf, adminOf, ownerOf, ownOf, joined } = viewer;
  return [key, memberOf, adminOf, ownerOf, ownOf, joined];
}

/** The tables as a viewer sees them. The relations have their names and hide them: no statement can read around them. */
function visibleTables(kind: ViewerKind, first: number): Relation[] {
  const { hasRules, isLimited } = kind;
  return [
    relation('viewer', viewerOf(isLimited ? first + 1 : first, kind), true),
    ...(isLimited ? [limitedRelation(first, conditionsFor(hasRules, false))] : []),
    ...['users', 'groups', 'changes'].map((table) => relation(`all_${table}`, `select * from ${table}`)),
    relation('all_memberships', 'select * from effective_memberships'),
    ...tablesOf(conditionsFor(hasRules, isLimited), kind),
  ];
}

/** The key and the roles of the viewer, in one row. */
function viewerOf(first: number, { seesHidden, isFixed }: ViewerKind): string {
  if (!seesHidden && !isFixed)
    return `select roles.*, roles.member_of as own_of, '{}'::integer[] as joined, false as sees_hidden from (${selectRoles(`$${first}::text`)}) roles`;
  const valueAt = (index: number) => (seesHidden ? 'null' : `$${first + index}`);
  const columns = ROLES.map((name, index) => `${valueAt(index + 1)}::integer[] as ${name}`);
  return `select ${valueAt(0)}::integer as key, ${columns.join(', ')}, ${String(seesHidden)} as sees_hidden`;
}

/** `groups`: those of the limit and those nested in them. `roots`: those whose members the viewer sees. Rules apply here, too. */
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
  return relation('limited', select, true);
}

function tablesOf(conditions: Conditions, { hasRules, isLimited, rules }: ViewerKind): Relation[] {
  const { seesUser, seesGroup, seesMembers, seesMembership, seesItsMembers, seesChange } = conditions;
  const [users = '', groups = '', changes = ''] = isLimited
    ? ['users', 'groups', 'changes'].map((name) => `(select count(*)::integer from ${name})`)
    : [
        `s.user_count${lessHidden('users', 'h', 'h.visible_to > 0', seesUser('h'))}`,
        `s.group_count${lessHidden('groups', 'h', 'h.visible_to > 0', seesGroup('h'))}`,
        `s.change_count${lessHidden('changes', 'c', IS_RESTRICTED, seesChange)}`,
      ];
  const ofMembership = {
    inherited_from: `array(
      select i.key from unnest(m.inherited_from) with ordinality i (key, place) join all_groups g on g.key = i.key
      where ${seesGroup('g')} and ${seesMembers('g')} order by i.place)`,
    group_members_visible_to: `case when ${seesItsMembers('m')} then 0 else m.group_members_visible_to end`,
  };
  const ofState = {
    revision_uuid: ifWrittenWith(rules, 's.revision_uuid'),
    ...{ user_count: users, group_count: groups, change_count: changes },
  };
  return [
    table('users', 'u', 'all_users', { group_count: groupCount(conditions, isLimited) }, seesUser('u')),
    table('groups', 'g', 'all_groups', groupColumns(conditions, hasRules), seesGroup('g')),
    table('effective_memberships', 'm', 'all_memberships', ofMembership, seesMembership('m')),
    NESTINGS,
    relation('changes', `select c.* from all_changes c where ${seesChange}`),
    table('mirror_state', 's', 'mirror_state', ofState, ALWAYS),
  ];
}

/** The number of groups that the viewer sees of a user `u`. Hidden ones are counted by their index. */
function groupCount({ seesItsGroup }: Conditions, isLimited: boolean): string {
  if (isLimited)
    return `(select count(*)::integer from all_memberships h where h.user_key = u.key and ${seesItsGroup('h')})`;
  const isHidden = '(h.group_visible_to > 0 or h.group_members_visible_to > 0)';
  return `u.group_count${lessHidden('memberships', 'h', `h.user_key = u.key and ${isHidden}`, seesItsGroup('h'))}`;
}

/** A group whose members the viewer does not see counts as empty, so that the order by the count discloses nothing. */
function groupColumns({ seesMembers, seesItsUser }: Conditions, hasRules: boolean): Record<string, string> {
  const isHidden = 'h.group_key = g.key and h.user_visible_to > 0';
  const count = `g.member_count${lessHidden('memberships', 'h', isHidden, seesItsUser('h'))}`;
  return {
    member_count: `case when ${seesMembers('g')} then ${count} else 0 end`,
    members_visible_to: `case when ${seesMembers('g')} then 0 else g.members_visible_to end`,
    // An index has this expression.
    ...(hasRules && { updated_at: 'coalesce(g.shown_updated_at, g.updated_at)' }),
  };
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

/** SQL that subtracts from a count the rows that the viewer does not see. */
function lessHidden(relationName: string, alias: string, condition: string, sees: string): string {
  if (sees === ALWAYS) return '';
  return ` - (
      select count(*)::integer from all_${relationName} ${alias} where ${condition} and (${sees}) is not true)`;
}

const wordsOf = (text: string) => text.trim().split(/\s+/);

/** The columns that relations of this module repeat; the others have values that depend on the viewer. */
export const COLUMNS = {
  users: wordsOf(`
    key entry_uuid id id_folded name given_name family_name email school_year school_year_compared photo picture field_values
    is_active family_sort_name sort_name name_letters search_text search_pairs visible_to created_at updated_at`),
  groups: wordsOf(`
    key entry_uuid id id_folded name description website email field_values sort_name name_letters search_text search_pairs
    visible_to created_at updated_at shown_updated_at`),
  effective_memberships: wordsOf(`
    group_key user_key role direct_role user_sort_name group_sort_name user_id user_name user_school_year
    user_has_photo user_has_picture group_id group_name user_visible_to group_visible_to`),
  mirror_state: wordsOf(`
    only_row state as_of reason blocked_plan source_fingerprint mode refusals context_csns read_whole_at leader revision
    changes_pruned_to cursor_key`),
};

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
    isOfViewer: false,
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
  /** Whether it has values of the viewer, all of which have to occur in the statement, and is computed once. */
  readonly isOfViewer: boolean;
  /** @param words those of the statement and of the relations behind this one */
  readonly select: (words: ReadonlySet<string>) => string;
}

/** The relations and columns whose names occur in a statement: PostgreSQL visits all of them at each execution. */
function relationsOf(text: string, relations: readonly Relation[]): string {
  const words = new Set<string>();
  const note = (sql: string) => sql.match(/\w+/g)?.forEach((word) => words.add(word.toLowerCase()));
  note(text);
  const chosen: string[] = [];
  // A relation can only mention those before it.
  for (const { name, isOfViewer, select } of [...relations].reverse()) {
    if (!words.has(name) && !isOfViewer) continue;
    const sql = select(words);
    note(sql);
    chosen.unshift(`${name} as ${isOfViewer ? '' : 'not '}materialized (\n  ${sql})`);
  }
  return `with ${chosen.join(',\n')}\n`;
}

function relation(name: string, select: string, isOfViewer = false): Relation {
  return { name, isOfViewer, select: () => select };
}
