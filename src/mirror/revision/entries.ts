import { pictureFields, storedName } from '../../common/field.js';
import { type DirectoryMapping, mappingOf } from '../../config/model/mapping.js';
import { writtenColumns, referenceFields } from '../../database/fields/projection.js';
import type { Writer } from '../../database/statements/statement.js';
import type { EntryKind } from '../../sources/directory.js';
import {
  carry,
  noteLostMemberships,
  noteLostNestings,
  noteTouchedPairs,
  writeMemberships,
} from './memberships.js';

const TABLES = { person: 'users', group: 'groups' } as const satisfies Record<EntryKind, string>;

/** Number of rows that a first revision writes above which PostgreSQL gathers statistics before it computes memberships. */
const MANY = 1000;

/** How the staged entries are written. */
export interface Writing {
  readonly writer: Writer;
  readonly mapping: DirectoryMapping;
  /** Whether the mirror is empty. */
  readonly isFirst: boolean;
  /** The time of the revision. */
  readonly now: Date;
}

/**
 * Makes the mirror equal to the staged entries, and all that is derived: names, references, nestings, effective memberships,
 * counters and the columns that memberships carry. It follows Staging.settle.
 */
export async function writeEntries(writing: Writing): Promise<void> {
  const { writer, mapping, isFirst, now } = writing;
  const usersName = mapping.users.memberOf !== undefined;
  await noteFormer(writer, mapping);
  if (!isFirst) {
    await noteMovedNames(writer);
    await noteTouchedPairs(writer, usersName);
    await noteReferring(writer, mapping);
    await noteLostNestings(writer);
    await noteLostMemberships(writer);
    await deleteGone(writer);
  }
  await writer.query(`
    delete from names n using staged s where n.key = s.key and not n.name = any (s.names);
    insert into entries as e (key, uuid, kind, dn, dn_key, id_folded, stamp, attributes, content, digest, reason, notes)
    overriding system value
    select coalesce(key, nextval(pg_get_serial_sequence('entries', 'key'))), uuid, kind, dn, dn_key, id_folded, stamp, attributes, content,
      digest, reason, notes
    from staged order by place
    on conflict on constraint entries_uuid_unique do update set dn = excluded.dn, dn_key = excluded.dn_key,
      id_folded = excluded.id_folded, stamp = excluded.stamp, attributes = excluded.attributes, content = excluded.content,
      digest = excluded.digest, reason = excluded.reason, notes = excluded.notes;
    update staged s set key = e.key from entries e where s.key is null and e.uuid = s.uuid;
    insert into names (name, key) select n.name, s.key from staged s cross join unnest(s.names) n (name) on conflict do nothing`);
  for (const kind of ['person', 'group'] as const) await writeRows(writer, kind, mapping, now);
  if (!isFirst) await noteTouchedPairs(writer, usersName);
  await writer.query(`
    delete from "references" r using staged s
    where s.key = r.from_key and not exists (
      select from staged_references t where t.uuid = s.uuid and t.field = r.field and t.target = r.target);
    insert into "references" as r (from_key, field, target, named_as, from_sort_name)
    select s.key, t.field, t.target, t.named_as, case when t.named_as = 0 then s."row" ->> 'sort_name' end
    from staged_references t join staged s on s.uuid = t.uuid
    on conflict on constraint references_pk do update set named_as = excluded.named_as, from_sort_name = excluded.from_sort_name
      where (r.named_as, r.from_sort_name) is distinct from (excluded.named_as, excluded.from_sort_name)`);
  await analyze(writer);
  await writeMemberships(writer, mapping, isFirst);
  if (!isFirst) {
    await carry(writer, mapping);
    await touchGroups(writer, now);
  }
}

/** Deletes what is gone, with all that belongs to it. */
async function deleteGone(writer: Writer): Promise<void> {
  const ofFormer = (table: string, column: string, kind: EntryKind) =>
    `delete from ${table} x using former f where f.key = x.${column} and f.is_gone and f.kind = '${kind}'`;
  const ofGone = (table: string, column: string) =>
    `delete from ${table} x using gone g where g.key = x.${column}`;
  await writer.query(
    [
      ofFormer('effective_memberships', 'user_key', 'person'),
      ofFormer('effective_memberships', 'group_key', 'group'),
      ofFormer('nestings', 'outer_key', 'group'),
      ofFormer('nestings', 'inner_key', 'group'),
      ofFormer('users', 'key', 'person'),
      ofFormer('groups', 'key', 'group'),
      ofGone('names', 'key'),
      ofGone('"references"', 'from_key'),
      ofGone('entries', 'key'),
    ].join('; '),
  );
}

/** After a small change, autovacuum does it: it takes longer than the revision. */
async function analyze(writer: Writer): Promise<void> {
  const [row] = await writer.query<{ isLarge: boolean }[]>(
    `select count(*) > ${MANY} and count(*) > (
       select sum(reltuples) / 10 from pg_class where oid in ('users'::regclass, 'groups'::regclass)) as "isLarge" from staged`,
  );
  if (row?.isLarge === true) await writer.query('analyze entries, names, users, groups, "references"');
}

/** Notes users and groups as they are before the revision, by key, in the order of what they need. */
async function noteFormer(writer: Writer, { users }: DirectoryMapping): Promise<void> {
  const pictures = pictureFields(users.fields).map(({ column, name }) => `e.${column ?? name}`);
  const select = (kind: EntryKind) => {
    const ofMembers = kind === 'person' ? '0::smallint' : 'e.members_visible_to';
    const level = (column: string) => `(s."row" ->> '${column}')::smallint`;
    return `
      select e.key, '${kind}', e.entry_uuid, e.id, e.id_folded, e.visible_to, ${ofMembers}, g.key is not null or s.reason is not null,
        coalesce(s."row" ->> 'id' <> e.id, false),
        coalesce(${level('visible_to')} <> e.visible_to${kind === 'person' ? '' : ` or ${level('members_visible_to')} <> e.members_visible_to`}, false),
        0, ${kind === 'person' && pictures.length > 0 ? `array[${pictures.join(', ')}]` : 'null::bytea[]'}
      from ${TABLES[kind]} e left join staged s on s.key = e.key left join gone g on g.key = e.key
      where e.key in (select key from staged where key is not null union all select key from gone)`;
  };
  await writer.query(`insert into former ${select('person')} union all ${select('group')}; analyze former`);
}

/** Names that another entry, or none, has afterwards. */
async function noteMovedNames(writer: Writer): Promise<void> {
  await writer.query(`
    insert into moved_names
    select n.name, f.kind, f.visible_to from names n join former f on f.key = n.key left join staged s on s.key = n.key
    where f.is_gone or not n.name = any (s.names)
    union all
    select x.name, s.kind, (s."row" ->> 'visible_to')::smallint
    from staged s cross join unnest(s.names) x (name) left join names n on n.name = x.name and n.key = s.key
    where s.reason is null and n.name is null;
    analyze moved_names`);
}

/** Notes entries whose custom fields refer to an entry that appears or vanishes, also by another DN: what they show differs. */
async function noteReferring(writer: Writer, mapping: DirectoryMapping): Promise<void> {
  const fields = [...referenceFields(mapping.users.fields), ...referenceFields(mapping.groups.fields)];
  if (fields.length === 0) return;
  await writer.query(
    `insert into referring
     select r.from_key, min(m.visible_to) from moved_names m join "references" r on r.target = m.name
       join unnest($1::text[], $2::text[]) as f (field, kind) on f.field = r.field and f.kind = m.kind
     where not exists (select from staged s where s.key = r.from_key and s.is_changed and not s.is_respelled)
       and not exists (select from former o where o.key = r.from_key and o.is_gone)
     group by r.from_key`,
    [fields.map(storedName), fields.map(({ reference }) => (reference.to === 'user' ? 'person' : 'group'))],
  );
}

/** Upserts the rows of users or groups of which viewers can see a change. */
async function writeRows(
  writer: Writer,
  kind: EntryKind,
  mapping: DirectoryMapping,
  now: Date,
): Promise<void> {
  const table = TABLES[kind];
  const columns = [
    ...writtenColumns(mappingOf(mapping, kind).fields).keys(),
    ...['entry_uuid', 'id', 'id_folded', 'name', 'sort_name', 'name_letters', 'search_text', 'search_pairs'],
    ...(kind === 'person' ? ['is_active', 'family_sort_name'] : ['members_visible_to']),
    'visible_to',
  ];
  const values: Readonly<Record<string, string>> = {
    ...Object.fromEntries(columns.map((name) => [name, `x.${name}`])),
    created_at: 'coalesce(x.created_at, $1)',
    updated_at: 'case when s.is_respelled then t.updated_at else $1 end',
    ...(kind === 'group' && { shown_updated_at: 'case when s.is_respelled then t.shown_updated_at end' }),
  };
  const names = Object.keys(values);
  // The creation time is from the directory, or else the time at which the entry was first seen, never that of this run.
  const assignments = names.map((name) =>
    name === 'created_at'
      ? `created_at = least(${table}.created_at, excluded.created_at)`
      : `${name} = excluded.${name}`,
  );
  await writer.query(
    `insert into ${table} (key, ${names.join(', ')})
     select s.key, ${Object.values(values).join(', ')} from staged s cross join lateral json_populate_record(null::${table}, s."row") x
       left join ${table} t on t.key = s.key
     where s.kind = '${kind}' and s.reason is null and s.is_changed
     on conflict on constraint ${table}_pk do update set ${assignments.join(', ')}`,
    [now],
  );
}

/**
 * Groups whose direct members or nested groups change count as updated. `shown_updated_at` stays for those who do not see everything
 * if not everyone can see one of these changes.
 */
async function touchGroups(writer: Writer, now: Date): Promise<void> {
  await writer.query(
    `update groups g set updated_at = $1,
       shown_updated_at = case when not t.is_shown then coalesce(g.shown_updated_at, g.updated_at) end
     from (
       select c.group_key, bool_or(o.members_visible_to = 0 and c.visible_to = 0) as is_shown from (
         select c.group_key, case when c.direct_role is null then coalesce(f.visible_to, u.visible_to) else u.visible_to end as visible_to
         from effective_changes c left join users u on u.key = c.user_key left join former f on f.key = c.user_key
         where c.direct_before is distinct from c.direct_role
         union all
         select c.outer_key, coalesce(c.visible_to, i.visible_to)
         from changed_nestings c left join groups i on i.key = c.inner_key
       ) c join groups o on o.key = c.group_key group by c.group_key) t
     where g.key = t.group_key and g.updated_at <> $1`,
    [now],
  );
}

/**
 * Deletes pictures that no user has: those of changed users, and after a scan also those of runs that have failed. No other run can
 * have stored one of them for its revision, which would come too late.
 */
export async function sweepPictures(
  writer: Writer,
  { users }: DirectoryMapping,
  isScan: boolean,
): Promise<void> {
  const columns = pictureFields(users.fields).map(({ column, name }) => column ?? name);
  if (columns.length === 0) return;
  const unused = columns.map((column) => `not exists (select from users u where u.${column} = p.sha256)`);
  if (!isScan) unused.push('p.sha256 in (select unnest(f.pictures) from former f)');
  await writer.query(`delete from pictures p where ${unused.join(' and ')}`);
}
