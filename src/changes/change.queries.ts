import { bindCursor } from '../common/cursor.js';
import { nodeIdOf, type LookupKey } from '../common/identity.js';
import type { KeySeal } from '../common/key-seal.js';
import { lookupCondition, type TableNames } from '../database/fields/object-table.js';
import { instantText } from '../database/fields/projection.js';
import type { PageSource } from '../database/paging/page-query.js';
import {
  IS_COMPLETE,
  REVISION,
  type Statement,
  statement,
  Values,
} from '../database/statements/statement.js';
import { roleOf } from '../groups/group.model.js';
import { ChangeKind, kindNumbered, numberOfKind } from '../common/change-kind.js';
import { type ChangeFilter, Change } from './change.model.js';
import { changesKeptSince, PORTION } from './retention.js';

const COLUMNS = [
  'c.id::text',
  'c.kind',
  instantText('c.at'),
  'c.user_key',
  'c.user_id',
  'c.user_uuid',
  'c.group_key',
  'c.group_id',
  'c.group_uuid',
  'c.id_before',
  'c.role_before',
  'c.role_after',
];

export type ChangeRow = [
  id: string,
  kind: number,
  at: string,
  userKey: number | null,
  userId: string | null,
  userUuid: string | null,
  groupKey: number | null,
  groupId: string | null,
  groupUuid: string | null,
  previousId: string | null,
  roleBefore: number | null,
  roleAfter: number | null,
];

export function changeOf(row: ChangeRow, seal: KeySeal): Change {
  const change = new Change();
  const [id, kind, at, userKey, userId, userUuid, groupKey, groupId, groupUuid, previousId, before, after] =
    row;
  change.number = Number(id);
  [change.id = ''] = seal.seal([change.number], CHANGE_BINDING);
  Object.assign(change, { at: new Date(at), userKey, userId, groupKey, groupId, previousId });
  change.kind = kindNumbered(kind);
  change.userNodeId = userUuid === null ? null : nodeIdOf('User', userUuid);
  change.groupNodeId = groupUuid === null ? null : nodeIdOf('Group', groupUuid);
  change.roleBefore = before === null ? null : roleOf(before);
  change.roleAfter = after === null ? null : roleOf(after);
  return change;
}

export interface ChangeSubjects {
  readonly userKey: number | null;
  readonly groupKey: number | null;
}

/** The log, oldest first. A cursor can be used with any filter. Changes are kept for `days`. */
export function changeSource(filter: ChangeFilter, subjects: ChangeSubjects, days: number): PageSource {
  const values = new Values();
  const kinds = filter.kinds ?? null;
  const since = filter.since ?? null;
  const kept = changesKeptSince(`${values.add(days)}::integer`);
  const from = since === null ? kept : `greatest(${kept}, ${values.add(since)}::timestamptz)`;
  const ofSubjects = subjectConditions(subjects, values);
  const first = `c.id >= (select f.id from changes f where f.at >= ${from} order by f.at, f.id limit 1)`;
  const numbers = [...new Set(kinds ?? [])].map(numberOfKind);
  const ofKinds = kinds === null ? [] : [`c.kind = any (${values.add(numbers)}::smallint[])`];
  // A user or a group has few changes. Without one, each kind is read from its own range of an index.
  const tables = numbers.map((number) => `(select * from changes where kind = ${number}) c`);
  const hasParts = ofSubjects.length === 0 && numbers.length > 0;
  const isEverything = ofSubjects.length === 0 && kinds === null && since === null;
  return {
    binding: CHANGE_BINDING,
    cursorsHaveRevision: true,
    from: 'changes c',
    columns: COLUMNS,
    parent: null,
    order: { columns: [{ sql: 'c.id', type: 'number' }], direction: 'ASC' },
    ...(hasParts && { parts: { alias: 'c', tables: [tables], joins: '' } }),
    conditions: [first, ...ofSubjects, ...ofKinds],
    values,
    ...(isEverything ? { total: totalSince(from) } : {}),
  };
}

function subjectConditions({ userKey, groupKey }: ChangeSubjects, values: Values): string[] {
  return [
    ...(userKey === null ? [] : [`c.user_key = ${values.add(userKey)}::integer`]),
    ...(groupKey === null ? [] : [`c.group_key = ${values.add(groupKey)}::integer`]),
  ];
}

/** Subtracts the expired changes that are not deleted yet, at most one portion of them. */
function totalSince(from: string): string {
  const past = `select from changes p where p.at < ${from} order by p.at, p.id limit ${PORTION}`;
  return `(select m.change_count - (select count(*)::integer from (${past}) past) from mirror_state m)`;
}

export const CHANGE_BINDING = bindCursor('changes', {}, {});

/** SQL for the highest id that has expired: every change after it can be read. */
const PAST = `greatest(m.changes_pruned_to,
    (select p.id from changes p where p.at < ${changesKeptSince('$1::integer')}
     order by p.at desc, p.id desc limit 1))::float8`;

/** SQL for the number at the end of the log: the highest one, of a change that is kept or was deleted. */
const END = 'greatest(m.changes_pruned_to, (select max(n.id) from changes n))';

/** The end of the log. */
export const READ_END = statement(
  `
  select ${END}::float8, m.revision_uuid
  from mirror_state m where ${IS_COMPLETE}`,
  { returnsRevision: true },
);

/** The position after which the log is complete. */
export const READ_START = statement(
  `
  select ${PAST}, m.revision_uuid
  from mirror_state m where ${IS_COMPLETE}`,
  { returnsRevision: true },
);

/**
 * The position after which the log is complete, and the end of the log. No row when the database never had the revision from which a cursor was read,
 * or has no change at the position of the cursor yet.
 */
export const READ_PAST = statement(
  `
  select ${PAST}, e.number::float8, m.revision_uuid
  from mirror_state m cross join lateral (select ${END} as number) e
  where ${IS_COMPLETE} and exists (select from revisions r where r.uuid = $2::uuid)
    and $3::bigint <= e.number`,
  { returnsRevision: true },
);

/**
 * The key of the user or group that has the identity now, or else that had it last, if the deletion has not expired. The
 * log has no addresses.
 */
export function findSubject(names: Pick<TableNames, 'table' | 'noun'>, by: LookupKey): Statement {
  const { table, noun } = names;
  const deletion = numberOfKind(noun === 'user' ? ChangeKind.USER_DELETED : ChangeKind.GROUP_DELETED);
  const former = by === 'id' ? 'c.id_folded = $1' : `c.${noun}_uuid = $1::uuid`;
  const deleted = `(select c.${noun}_key from changes c
     where c.kind = ${deletion} and ${former} and c.at >= ${changesKeptSince('$2::integer')}
     order by c.id desc limit 1)`;
  // Every value must occur in the statement.
  const otherwise = by === 'email' ? 'nullif($2::integer, $2)' : deleted;
  return statement(
    `
  select coalesce(
    (select s.key from ${table} s where ${lookupCondition(names, by, 's', '$1')}),
    ${otherwise}),
    ${REVISION}`,
    { returnsRevision: true },
  );
}
