import { type ChangeKind, numberOfKind } from '../../common/change-kind.js';
import { arraysOf } from '../../common/chunks.js';
import type { Values } from '../../database/statements/statement.js';
import { unnest } from '../../database/statements/unnest.js';
import type { EntryKind } from '../../sources/source.js';
import { ENTRY_TABLES } from '../map/entry-tables.js';
import type { Former } from './former-entries.js';

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

/** Rows of the log. */
export interface RecordedChanges {
  /** SQL by column. */
  readonly columns: Readonly<Partial<Record<Column, string>>>;
  /** The rest of the statement that selects them. */
  readonly from: string;
  /** SQL for up to three numbers by which the rows are ordered. */
  readonly order: readonly string[];
}

export const CHANGE_COLUMNS = Object.keys(COLUMNS);

const ORDER_LENGTH = 3;
/** The columns after those of a change, by which changes of several selects are ordered. */
export const CHANGE_ORDER = ['part', ...Array.from({ length: ORDER_LENGTH }, (_, index) => `place_${index}`)];

/** @param part the place of these changes among others */
export function selectChanges({ columns, from, order }: RecordedChanges, part: number): string {
  const selected = Object.entries(COLUMNS).map(
    ([name, none]) => `${columns[name as Column] ?? none} as ${name}`,
  );
  const places = CHANGE_ORDER.slice(1).map((name, index) => `(${order[index] ?? '0'})::integer as ${name}`);
  return `select ${[...selected, `${part} as part`, ...places].join(', ')} ${from}`;
}

const NOUNS = { person: 'user', group: 'group' } as const;

export function kindColumn(kind: ChangeKind): string {
  return `${numberOfKind(kind)}::smallint`;
}

/** The columns of an entry, from a table or from a Former. */
function entryColumns(
  kind: ChangeKind,
  of: EntryKind,
  alias: string,
  { isFormer = false } = {},
): RecordedChanges['columns'] {
  const noun = NOUNS[of];
  return {
    kind: kindColumn(kind),
    [`${noun}_key`]: `${alias}.key`,
    [`${noun}_id`]: `${alias}.id`,
    [`${noun}_uuid`]: `${alias}.${isFormer ? 'uuid' : 'entry_uuid'}`,
    [`${noun}_visible_to`]: `${alias}.visible_to`,
    ...(isFormer && { id_folded: `${alias}.id_folded` }),
  };
}

export interface RecordedEntry {
  readonly uuid: string;
  /** Null: it stays the same. */
  readonly idBefore: string | null;
  readonly place: number;
  /** 0, if it stays the same. */
  readonly visibleToBefore: number;
}

/** Created or updated entries. */
export function recordEntries(
  values: Values,
  kind: ChangeKind,
  of: EntryKind,
  entries: readonly RecordedEntry[],
): RecordedChanges {
  const noun = NOUNS[of];
  const given = unnest(values, GIVEN, arraysOf(entries, 'uuid', 'idBefore', 'place', 'visibleToBefore'));
  return {
    columns: {
      ...entryColumns(kind, of, 'e'),
      id_before: 'given.id_before',
      [`${noun}_visible_to`]: 'greatest(e.visible_to, given.visible_to_before)',
    },
    from: `from ${given} as given (uuid, id_before, place, visible_to_before) join ${ENTRY_TABLES[of]} e on e.entry_uuid = given.uuid`,
    order: ['given.place', 'e.key'],
  };
}

const GIVEN = ['uuid', 'text', 'integer', 'smallint'];

/**
 * Records a change of each entry that stays the same while what it refers to appears or vanishes. If the audience of the referent
 * is limited, only principals who see everything learn of it: the audience is stored for the other kind of object, of which the
 * row has none.
 */
export function recordReferring(
  values: Values,
  kind: ChangeKind,
  of: EntryKind,
  entries: readonly { readonly uuid: string; readonly visibleTo: number }[],
): RecordedChanges {
  const other = of === 'person' ? 'group' : 'user';
  const given = unnest(values, ['uuid', 'smallint'], arraysOf(entries, 'uuid', 'visibleTo'));
  return {
    columns: {
      ...entryColumns(kind, of, 'e'),
      [`${other}_visible_to`]: 'given.visible_to',
    },
    from: `from ${given} as given (uuid, visible_to) join ${ENTRY_TABLES[of]} e on e.entry_uuid = given.uuid`,
    order: ['e.key'],
  };
}

export function recordDeletions(
  values: Values,
  kind: ChangeKind,
  of: EntryKind,
  gone: readonly Former[],
  changes: string,
): RecordedChanges {
  const hasAudience = gone.map(({ visibleTo, membersVisibleTo }) => visibleTo + membersVisibleTo > 0);
  const given = unnest(values, [...FORMER, 'boolean'], [...formerArrays(gone), hasAudience]);
  return {
    columns: {
      ...entryColumns(kind, of, 'gone', { isFormer: true }),
      // The groups of a deleted user, or the members and admins of a deleted group, if not everyone sees its changes.
      audience: audienceOf(of, 1, changes),
      ...(of === 'group' && { admin_audience: audienceOf(of, 2, changes) }),
    },
    from: `from ${given} as gone (key, id, uuid, id_folded, visible_to, has_audience)`,
    order: ['gone.key'],
  };
}

function audienceOf(of: EntryKind, role: number, changes: string): string {
  const [noun, other] = of === 'person' ? ['user', 'group'] : ['group', 'user'];
  return `case when gone.has_audience then array(
      select c.${other}_key from ${changes} c where c.${noun}_key = gone.key and c.role_before >= ${role}) end`;
}

/** Records a change of each former user or group `f` for viewers who are no longer in its audience. */
export function recordHidden(
  values: Values,
  kind: ChangeKind,
  of: EntryKind,
  former: readonly Former[],
): RecordedChanges {
  return {
    columns: {
      ...entryColumns(kind, of, 'f', { isFormer: true }),
      outside_of: 'e.visible_to',
    },
    from: `from ${unnest(values, FORMER, formerArrays(former))} as f (key, id, uuid, id_folded, visible_to)
      join ${ENTRY_TABLES[of]} e on e.key = f.key where e.visible_to > f.visible_to`,
    order: ['f.key'],
  };
}

/** Records a change of each user or group for viewers who were not in its audience and now are. */
export function recordRevealed(
  values: Values,
  kind: ChangeKind,
  of: EntryKind,
  former: readonly Former[],
): RecordedChanges {
  const given = unnest(values, ['integer', 'smallint'], arraysOf(former, 'key', 'visibleTo'));
  return {
    columns: {
      ...entryColumns(kind, of, 'e'),
      outside_of: 'f.visible_to',
    },
    from: `from ${given} as f (key, visible_to) join ${ENTRY_TABLES[of]} e on e.key = f.key where e.visible_to < f.visible_to`,
    order: ['f.key'],
  };
}

const FORMER = ['integer', 'text', 'uuid', 'text', 'smallint'];

function formerArrays(former: readonly Former[]): unknown[] {
  return arraysOf(former, 'key', 'id', 'uuid', 'idFolded', 'visibleTo');
}
