import type { DataSource } from 'typeorm';
import { type ChangeKind, numberOfKind } from '../../common/change-kind.js';
import type { Writer } from '../../database/statements/statement.js';

/** The columns of the log that a change can have, with their defaults. */
const COLUMNS = {
  kind: 'null::smallint',
  user_key: 'null::integer',
  user_id: 'null::text',
  user_uuid: 'null::uuid',
  group_key: 'null::integer',
  group_id: 'null::text',
  group_uuid: 'null::uuid',
  role_before: 'null::smallint',
  role_after: 'null::smallint',
  id_before: 'null::text',
  id_folded: 'null::text',
  user_visible_to: '0::smallint',
  group_visible_to: '0::smallint',
  members_visible_to: '0::smallint',
  audience: 'null::integer[]',
  admin_audience: 'null::integer[]',
  outside_of: '0::smallint',
} as const;

type Column = keyof typeof COLUMNS;

/** A list of changes: SQL by column, the rest of the statement that selects them, and up to three expressions by which they are ordered. */
interface Part {
  readonly columns: Readonly<Partial<Record<Column, string>>>;
  readonly from: string;
  readonly order: readonly string[];
}

type Noun = 'user' | 'group';
const NOUNS: readonly Noun[] = ['user', 'group'];
const KIND: Readonly<Record<Noun, string>> = { user: 'person', group: 'group' };
const KINDS = {
  created: { user: 'USER_CREATED', group: 'GROUP_CREATED' },
  updated: { user: 'USER_UPDATED', group: 'GROUP_UPDATED' },
  deleted: { user: 'USER_DELETED', group: 'GROUP_DELETED' },
} as const;

/**
 * Writes the changes of a revision to the log (docs/clients.md), after the rows and the effective memberships are written. The
 * transaction holds the lock on the state of the mirror throughout, so change ids become visible in their order.
 *
 * A client can apply the changes one by one. No entry receives an id before the previous holder has released it, unless entries
 * exchange ids in a cycle. Removals come first, with the previous ids.
 *
 * No change is earlier than one before it, even if the clock of the database goes back; times that are more than a day ahead are
 * of a clock that was wrong, and not continued. Ids continue at the microseconds of the clock: after a restore or a failover, a change
 * does not get the id of a lost one, by which clients would take it for known.
 */
export async function writeChanges(writer: Writer, revision: number): Promise<number> {
  await orderUpdates(writer);
  await hideEarlier(writer);
  const parts = [
    memberships(true),
    ...NOUNS.map(deletions),
    ...NOUNS.map((noun) => seenOtherwise(noun, true)),
    ...NOUNS.map((noun) => entries(noun, true)),
    ...NOUNS.map((noun) => seenOtherwise(noun, false)),
    ...NOUNS.map((noun) => entries(noun, false)),
    ...NOUNS.map(referring),
    memberships(false),
  ];
  const names = Object.keys(COLUMNS).join(', ');
  const selects = parts.map(({ columns, from, order }, part) => {
    const selected = Object.entries(COLUMNS).map(
      ([name, none]) => `${columns[name as Column] ?? none} as ${name}`,
    );
    const places = [0, 1, 2].map((index) => `(${order[index] ?? '0'})::integer as place_${index}`);
    return `select ${[...selected, `${part} as part`, ...places].join(', ')} ${from}`;
  });
  const [row] = await writer.query<{ count: number }[]>(
    `with stamp as materialized (
       select (select greatest(clock_timestamp()::timestamptz(3), max(c.at)) from changes c
           where c.at < clock_timestamp() + interval '24 hours') as at,
         setval('changes_id_seq', greatest(s.last_value, (extract(epoch from clock_timestamp()) * 1000000)::bigint)) as number
       from changes_id_seq s),
     recorded as (
       insert into changes (revision, at, ${names})
       select $1::integer, stamp.at, ${names} from (${selects.join(' union all ')}) each, stamp
       order by part, place_0, place_1, place_2
       returning 1)
     select count(*)::integer as count from recorded`,
    [revision],
  );
  return row?.count ?? 0;
}

/** Each id is released before another entry receives it. Entries that exchange ids in a cycle have no such order, and come first. */
async function orderUpdates(writer: Writer): Promise<void> {
  await writer.query(`
    with recursive renames as (
      select f.key, f.kind, f.id_folded as former, s.id_folded as latter from former f join staged s on s.key = f.key
      where f.is_renamed),
    ordered (key, kind, former, place) as (
      select key, kind, former, 1 from renames r
      where not exists (select from renames o where o.kind = r.kind and o.former = r.latter and o.key <> r.key)
      union all
      select r.key, r.kind, r.former, o.place + 1
      from ordered o join renames r on r.kind = o.kind and r.latter = o.former and r.key <> o.key)
    update former f set place = coalesce(o.place, -f.key)
    from renames r left join ordered o on o.key = r.key where f.key = r.key`);
}

/**
 * Hides the earlier changes of users and groups that have become hidden, which have a deletion for those who leave the audience.
 * The deletion, and the creation for those who join it, stay as they are. So do changes of ids: without them, a client that
 * continues would find an id that another entry in its copy still has.
 */
async function hideEarlier(writer: Writer): Promise<void> {
  for (const noun of NOUNS)
    await writer.query(`
      update changes c set ${noun}_visible_to = e.visible_to from ${noun}s e join former f on f.key = e.key
      where f.has_other_audience and c.${noun}_key = e.key and c.outside_of = 0 and c.id_before is null
        and c.${noun}_visible_to < e.visible_to`);
}

const number = (kind: ChangeKind) => `${numberOfKind(kind)}::smallint`;

/** @param alias of a user or group, or of `former` */
function ofEntry(kind: ChangeKind, noun: Noun, alias: string, isFormer = false): Part['columns'] {
  return {
    kind: number(kind),
    [`${noun}_key`]: `${alias}.key`,
    [`${noun}_id`]: `${alias}.id`,
    [`${noun}_uuid`]: `${alias}.${isFormer ? 'uuid' : 'entry_uuid'}`,
    [`${noun}_visible_to`]: `${alias}.visible_to`,
    ...(isFormer && { id_folded: `${alias}.id_folded` }),
  };
}

function entries(noun: Noun, isUpdate: boolean): Part {
  const kind = (isUpdate ? KINDS.updated : KINDS.created)[noun];
  const columns = ofEntry(kind, noun, 'e');
  const from = `from staged s join ${noun}s e on e.key = s.key left join former f on f.key = s.key
    where s.is_changed and not s.is_respelled and f.key is ${isUpdate ? 'not null' : 'null'}`;
  if (!isUpdate) return { columns, from, order: ['e.key'] };
  return {
    columns: {
      ...columns,
      id_before: 'case when f.is_renamed then f.id end',
      [`${noun}_visible_to`]:
        'case when f.has_other_audience then greatest(e.visible_to, f.visible_to) else e.visible_to end',
    },
    from,
    order: ['f.place', 'e.key'],
  };
}

function deletions(noun: Noun): Part {
  const other = noun === 'user' ? 'group' : 'user';
  // The groups of a deleted user, or the members and admins of a deleted group, if not everyone sees its changes.
  const audience = (role: number) => `case when f.visible_to + f.members_visible_to > 0 then array(
    select c.${other}_key from effective_changes c where c.${noun}_key = f.key and c.role_before >= ${role}) end`;
  return {
    columns: {
      ...ofEntry(KINDS.deleted[noun], noun, 'f', true),
      audience: audience(1),
      ...(noun === 'group' && { admin_audience: audience(2) }),
    },
    from: `from former f where f.is_gone and f.kind = '${KIND[noun]}'`,
    order: ['f.key'],
  };
}

/** A deletion for viewers who leave the audience of an entry that remains, or a creation for those who join it. */
function seenOtherwise(noun: Noun, isHidden: boolean): Part {
  const columns = isHidden
    ? { ...ofEntry(KINDS.deleted[noun], noun, 'f', true), outside_of: 'e.visible_to' }
    : { ...ofEntry(KINDS.created[noun], noun, 'e'), outside_of: 'f.visible_to' };
  return {
    columns,
    from: `from former f join ${noun}s e on e.key = f.key
      where f.has_other_audience and e.visible_to ${isHidden ? '>' : '<'} f.visible_to`,
    order: ['f.key'],
  };
}

/**
 * A change of each entry that stays the same while what its fields refer to appears or vanishes. If the audience of the referent is
 * limited, only principals who see everything learn of it: the audience is stored for the other kind of object, of which the row has none.
 */
function referring(noun: Noun): Part {
  const other = noun === 'user' ? 'group' : 'user';
  return {
    columns: { ...ofEntry(KINDS.updated[noun], noun, 'e'), [`${other}_visible_to`]: 'r.visible_to' },
    from: `from referring r join ${noun}s e on e.key = r.key`,
    order: ['e.key'],
  };
}

/** A former role is for the audiences before and after: the former one could not see it. `greatest` ignores nulls. */
const FORMER_AUDIENCES = {
  user_visible_to:
    'greatest(u.visible_to, case when fu.is_gone or fu.has_other_audience then fu.visible_to end)',
  group_visible_to:
    'greatest(g.visible_to, case when fg.is_gone or fg.has_other_audience then fg.visible_to end)',
  members_visible_to:
    'greatest(g.members_visible_to, case when fg.is_gone or fg.has_other_audience then fg.members_visible_to end)',
};

/**
 * Members who leave a group, with the previous ids, or changed roles and then new members. A role that is only inherited in a different
 * way is not recorded.
 */
function memberships(isRemoval: boolean): Part {
  const audience = (name: keyof typeof FORMER_AUDIENCES, after: string) =>
    `case when c.role_before is null then ${after} else ${FORMER_AUDIENCES[name]} end`;
  const value = (former: string, present: string) =>
    isRemoval ? `coalesce(${former}, ${present})` : present;
  const present = `case when c.role_before is null then ${number('MEMBER_ADDED')} else ${number('ROLE_CHANGED')} end`;
  return {
    columns: {
      kind: isRemoval ? number('MEMBER_REMOVED') : present,
      user_key: 'c.user_key',
      user_id: value('fu.id', 'u.id'),
      user_uuid: value('fu.uuid', 'u.entry_uuid'),
      group_key: 'c.group_key',
      group_id: value('fg.id', 'g.id'),
      group_uuid: value('fg.uuid', 'g.entry_uuid'),
      role_before: 'c.role_before',
      role_after: 'c.role_after',
      user_visible_to: audience('user_visible_to', 'u.visible_to'),
      group_visible_to: audience('group_visible_to', 'g.visible_to'),
      members_visible_to: audience('members_visible_to', 'g.members_visible_to'),
    },
    from: `from effective_changes c left join users u on u.key = c.user_key left join groups g on g.key = c.group_key
      left join former fu on fu.key = c.user_key left join former fg on fg.key = c.group_key
      where c.role_after is ${isRemoval ? '' : 'not'} null and c.role_before is distinct from c.role_after`,
    order: ['(c.role_before is null)::integer', 'c.group_key', 'c.user_key'],
  };
}

/** Expired changes that one transaction deletes at most: it holds the lock on the state of the mirror. */
const PORTION = 20_000;

/**
 * Deletes expired changes, in their order, and at most those of a day: a clock that is wrong for a while costs a day of the log. A
 * change with a time in the future was written while the clock was wrong. It is deleted together with those before and after it.
 */
export async function pruneChanges(dataSource: DataSource, days: number): Promise<void> {
  const [found] = await dataSource.query<{ until: Date }[]>(
    `select least(k.since, f.at + interval '24 hours') as until
     from (select now() - make_interval(hours => 24 * $1::integer) as since) k
       cross join (select at from changes order by id limit 1) f
     where exists (select from changes c where c.at < k.since)`,
    [days],
  );
  if (found === undefined) return;
  for (let count = PORTION; count === PORTION;) {
    count = await dataSource.transaction(async (manager) => {
      // Two deletions would otherwise wait for each other.
      await manager.query('select from mirror_state for update');
      const [row] = await manager.query<{ count: number }[]>(PRUNE, [found.until]);
      return row?.count ?? 0;
    });
  }
}

const PRUNE = `
  with oldest as materialized (select id, at from changes order by id limit ${PORTION}),
  expired as (
    select max(id) as id from oldest where at < $1::timestamptz
      and id < all (select k.id from oldest k where k.at >= $1::timestamptz and k.at < now() + interval '24 hours')),
  gone as (delete from changes c using expired e where c.id <= e.id returning c.revision),
  past as (delete from revisions where id < (select max(revision) from gone)),
  counted as (
    update mirror_state m set changes_pruned_to = e.id, change_count = m.change_count - (select count(*) from gone)
    from expired e where e.id is not null)
  select count(*)::integer as count from gone`;
