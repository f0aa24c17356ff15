import { addressOf } from '../../database/fields/object-table.js';
import { MOST_CHANGED } from '../../database/revisions/changed-objects.js';
import type { Writer } from '../../database/statements/statement.js';
import { HIDES_SOMETHING } from '../../database/visibility/visible-tables.js';
import type { EntryKind } from '../../sources/source.js';

/**
 * SQL for a text that differs when an object is found in another way: then it has another place in every list that contains it.
 * @param row the alias of the user or group. @param entry that of its entry
 */
export function foundBy(kind: EntryKind, row: string, entry: string): string {
  const own = kind === 'person' ? addressOf(row) : `${row}.members_visible_to`;
  const columns = ['id_folded', 'sort_name', 'search_text', 'visible_to'].map((name) => `${row}.${name}`);
  return `md5(row(${[...columns, own, `${entry}.dn_key`].join(', ')})::text)`;
}

const moved = (kind: EntryKind, table: string) => `
  select f.key from former f left join ${table} x on x.key = f.key left join entries e on e.key = f.key
  where f.kind = '${kind}' and f.found is distinct from case when x.key is not null then ${foundBy(kind, 'x', 'e')} end`;

const written = (kind: EntryKind) => `
  select f.key from former f left join staged s on s.key = f.key
  where f.kind = '${kind}' and (f.is_gone or s.is_changed)`;

const LISTS = {
  users: written('person'),
  groups: `${written('group')}
    union select c.group_key from effective_changes c
    union select n.outer_key from changed_nestings n union select n.inner_key from changed_nestings n`,
  members: `
    select c.group_key from effective_changes c
    union select n.outer_key from changed_nestings n
    union select m.group_key from moved_users u join effective_memberships m on m.user_key = u.key`,
  memberOf: `
    select c.user_key from effective_changes c
    union select m.user_key from moved_groups g join effective_memberships m on m.group_key = g.key`,
};

const isCreated = (kind: EntryKind) => `exists (
  select from staged s where s.kind = '${kind}' and s.reason is null and not exists (select from former f where f.key = s.key))`;

const FLAGS = {
  anyUser: `exists (select from moved_users) or ${isCreated('person')}`,
  anyGroup: `exists (select from moved_groups) or ${isCreated('group')}`,
};

/** Notes what a revision has changed (docs/adr/0042), after its rows are written; null for everything. */
export async function noteChanged(writer: Writer, revision: number): Promise<void> {
  const columns = [
    ...Object.entries(LISTS).map(
      ([name, keys]) =>
        `array(select each.key from (${keys}) each (key) limit ${MOST_CHANGED + 1}) as "${name}"`,
    ),
    ...Object.entries(FLAGS).map(([name, sql]) => `${sql} as "${name}"`),
  ];
  const count = Object.keys(LISTS).map((name) => `cardinality(l."${name}")`);
  await writer.query(
    `with moved_users as (${moved('person', 'users')}),
     moved_groups as (${moved('group', 'groups')}),
     lists as (select ${columns.join(', ')})
     update revisions r set changed = row_to_json(l) from lists l, mirror_state s
     where r.id = $1 and s.hides = ${HIDES_SOMETHING} and ${count.join(' + ')} <= ${MOST_CHANGED}
       and (select count(*) from staged) <= ${MOST_CHANGED}`,
    [revision],
  );
}
