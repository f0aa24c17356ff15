import { storedName } from '../../common/field.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import { FIELD_VALUES } from '../../database/fields/filters.js';
import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/directory.js';
import { MEMBERS } from './staged-entry.js';

/** An entry that a revision changes, for people who read a dry run. */
export interface ListedEntry {
  readonly kind: EntryKind;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly id: string;
  readonly name: string;
  /** The id before an update that changes it. */
  readonly formerId: string | null;
  readonly dn: string;
  /** The names of the fields that differ, or `dn`, of an update. */
  readonly fields: readonly string[];
}

/** A direct membership that a revision changes, with the ranks of the roles. */
export interface ListedMembership {
  readonly group: string;
  readonly member: string;
  readonly isGroup: boolean;
  readonly before: number | null;
  readonly after: number | null;
}

export interface ListedChanges {
  readonly entries: readonly ListedEntry[];
  readonly memberships: readonly ListedMembership[];
  /** Entries that are left out, and why; with an attribute, it is the attribute that is. */
  readonly quarantined: readonly LeftOut[];
  /** Groups that name members whom no entry has, and how many. */
  readonly dangling: readonly Dangling[];
}

interface Dangling {
  readonly dn: string;
  readonly names: number;
}

interface LeftOut {
  readonly kind: EntryKind;
  readonly dn: string;
  readonly attribute: string | null;
  readonly reason: string;
}

/** Notes, for a dry run, the DNs and names of entries that change or vanish, and the fields that differ, before the rows are written. */
export async function noteDiffering(writer: Writer, mapping: DirectoryMapping): Promise<void> {
  for (const kind of ['person', 'group'] as const) {
    const table = kind === 'person' ? 'users' : 'groups';
    const names = mappingOf(mapping, kind)
      .fields.filter(({ reader }) => reader !== 'none')
      .map((field) => [field.column ?? storedName(field), field.name]);
    await writer.query(
      `insert into differing
       select b.key, b.dn, e.name, array(
         select f.name from unnest($1::text[], $2::text[]) as f (stored, name)
         where case when f.stored = 'created_at' then n.created_at < e.created_at
           else coalesce(n.row -> f.stored, n.row -> '${FIELD_VALUES}' -> f.stored)
             is distinct from coalesce(o.row -> f.stored, o.row -> '${FIELD_VALUES}' -> f.stored) end) ||
         case when s.dn <> b.dn then array['dn'] end
       from entries b join ${table} e on e.key = b.key left join staged s on s.key = b.key
         cross join lateral (select to_jsonb(e) as "row") o
         cross join lateral (select to_jsonb(x) as "row", x.created_at from json_populate_record(null::${table}, s."row") x) n
       where s.is_changed or exists (select from gone g where g.key = b.key)`,
      [names.map(([stored]) => stored), names.map(([, name]) => name)],
    );
  }
}

/** Lists what the staged entries change, after the rows are written in a transaction that is rolled back. */
export async function listStagedChanges(writer: Writer): Promise<ListedChanges> {
  return {
    entries: await writer.query<ListedEntry[]>(`
      select s.kind, case when f.key is null then 'created' else 'updated' end as change, s."row" ->> 'id' as id, s."row" ->> 'name' as name,
        case when f.is_renamed then f.id end as "formerId", s.dn, coalesce(d.fields, '{}') as fields
      from staged s left join former f on f.key = s.key left join differing d on d.key = s.key
      where s.reason is null and s.is_changed
      union all
      select f.kind, 'deleted', f.id, d.name, null, d.dn, '{}' from former f join differing d on d.key = f.key where f.is_gone
      order by 1, 2, 3`),
    memberships: await writer.query<ListedMembership[]>(`
      select coalesce(g.id, fg.id) as "group", coalesce(u.id, fu.id) as member, false as "isGroup",
        c.direct_before as before, c.direct_role as after
      from effective_changes c left join groups g on g.key = c.group_key left join former fg on fg.key = c.group_key
        left join users u on u.key = c.user_key left join former fu on fu.key = c.user_key
      where c.direct_before is distinct from c.direct_role
      union all
      select o.id, coalesce(i.id, fi.id), true, c.role_before, c.role_after
      from changed_nestings c join groups o on o.key = c.outer_key left join groups i on i.key = c.inner_key
        left join former fi on fi.key = c.inner_key
      order by 1, 2`),
    quarantined: await readQuarantine(writer),
    dangling: await writer.query<Dangling[]>(`
      select e.dn, count(*)::integer as names from "references" r join entries e on e.key = r.from_key
      where r.field = '${MEMBERS}' and not exists (select from names n where n.name = r.target)
      group by e.key order by e.dn`),
  };
}

/** Lists what the mirror leaves out. */
async function readQuarantine(writer: Writer): Promise<ListedChanges['quarantined']> {
  return writer.query<LeftOut[]>(`
    select kind, dn, null as attribute, reason from entries where reason is not null
    union all
    select e.kind, e.dn, n.note ->> 0, n.note ->> 1 from entries e cross join jsonb_array_elements(e.notes) n (note)
    where e.notes is not null
    order by 2, 3`);
}
