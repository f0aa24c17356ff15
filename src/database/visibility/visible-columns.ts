import type { FieldDefinition } from '../../common/field.js';
import { BUILT_IN_FIELDS } from '../../config/model/build-mapping.js';
import { carriedNames, comparedColumns } from '../fields/field-columns.js';

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
    ...['revision', 'changes_pruned_to', 'changes_clock', 'changes_clock_doubted_since'],
    ...['cursor_key', 'leader', 'mode', 'refusals', 'context_csns', 'read_whole_at'],
  ],
};

function columnsOf(fields: readonly FieldDefinition[]): string[] {
  return fields.flatMap((field) => [
    ...(field.column === null ? [] : [field.column]),
    ...comparedColumns(field),
  ]);
}

/** The columns whose values depend on the viewer. */
export const COMPUTED = {
  users: ['group_count'],
  groups: ['member_count', 'members_visible_to'],
  effective_memberships: ['inherited_from', 'group_members_visible_to'],
  mirror_state: ['revision_uuid', 'user_count', 'group_count', 'change_count'],
} as const;

/** A relation with the name of a table, and those of its columns that are used. */
export function table(
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
export interface Relation {
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
export function relationsOf(text: string, relations: readonly Relation[]): string {
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

export function relation(name: string, select: string, isMaterialized?: true): Relation {
  return { name, select: () => select, ...(isMaterialized && { isMaterialized }) };
}
