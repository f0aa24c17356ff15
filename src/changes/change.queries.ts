import { bindCursor } from '../common/cursor.js';
import type { PageSource } from '../database/page-source.js';
import { REVISION, statement } from '../database/statement.js';
import { Values } from '../database/values.js';
import { roleOf } from '../memberships/role.js';
import type { ChangeFilter } from './change.inputs.js';
import { Change } from './change.model.js';
import { ChangeKind, kindOf, numberOfKind } from './change-kind.js';
import { PORTION } from './retention.js';

const COLUMNS = [
  'c.id::text',
  'c.kind',
  'c.at',
  'c.user_key',
  'c.user_id',
  'c.group_key',
  'c.group_id',
  'c.id_before',
  'c.role_before',
  'c.role_after',
];

export type ChangeRow = [
  id: string,
  kind: number,
  at: Date,
  userKey: number | null,
  userId: string | null,
  groupKey: number | null,
  groupId: string | null,
  previousId: string | null,
  roleBefore: number | null,
  roleAfter: number | null,
];

export function changeOf(row: ChangeRow): Change {
  const change = new Change();
  const [id, kind, at, userKey, userId, groupKey, groupId, previousId, roleBefore, roleAfter] = row;
  Object.assign(change, { id, at, userKey, userId, groupKey, groupId, previousId });
  change.kind = kindOf(kind);
  change.roleBefore = roleBefore === null ? null : roleOf(roleBefore);
  change.roleAfter = roleAfter === null ? null : roleOf(roleAfter);
  return change;
}

/** Keys of the person and of the group that changes have to be about. */
export interface ChangeSubjects {
  readonly userKey: number | null;
  readonly groupKey: number | null;
}

/**
 * The log, from old to new. A cursor is a place in the log whatever the filter: it goes with every one.
 * @param keptSince changes before are past
 */
export function changeSource(
  { kinds, since }: ChangeFilter,
  { userKey, groupKey }: ChangeSubjects,
  keptSince: Date,
): PageSource {
  const values = new Values();
  const from = values.add(since === undefined || since === null || since < keptSince ? keptSince : since);
  const numbers = kinds === undefined || kinds === null ? null : [...new Set(kinds)].map(numberOfKind);
  const isOfSubject = userKey !== null || groupKey !== null;
  const conditions = [
    `c.id >= (select f.id from changes f where f.at >= ${from}::timestamptz order by f.at, f.id limit 1)`,
  ];
  if (userKey !== null) conditions.push(`c.user_key = ${values.add(userKey)}::integer`);
  if (groupKey !== null) conditions.push(`c.group_key = ${values.add(groupKey)}::integer`);
  // A person or a group has few changes; where all are asked for, each kind has a stretch of an index.
  const isNarrow = isOfSubject || numbers?.length === 0;
  if (numbers !== null && isNarrow) conditions.push(`c.kind = any (${values.add(numbers)}::smallint[])`);
  const stretches = isNarrow ? null : numbers?.map((number) => `c.kind = ${values.add(number)}::smallint`);
  const isEverything = !isOfSubject && numbers === null && (since === undefined || since === null);
  return {
    binding: CHANGE_BINDING,
    from: 'changes c',
    columns: COLUMNS,
    instants: ['c.at'],
    parent: null,
    order: { columns: [{ sql: 'c.id', type: 'bigint' }], direction: 'ASC' },
    conditions,
    ...(stretches ? { stretches } : {}),
    values,
    ...(isEverything ? { total: totalSince(from) } : {}),
  };
}

/**
 * What is past and not deleted yet is counted still: mostly nothing. Where it is very much, because nobody deleted for long,
 * the first part of it is looked at.
 */
function totalSince(from: string): string {
  const past = `select from changes p where p.at < ${from}::timestamptz order by p.at, p.id limit ${PORTION}`;
  return `(select m.change_count - (select count(*)::integer from (${past}) past) from mirror_state m)`;
}

export const CHANGE_BINDING = bindCursor('changes', {}, {});

/** The highest id that is past: everything after it can be read. */
export const READ_PAST = statement(
  `
  select greatest(m.changes_pruned_to,
    (select p.id from changes p where p.at < $1::timestamptz order by p.at desc, p.id desc limit 1))::float8, m.revision_uuid
  from mirror_state m`,
  { tellsRevision: true },
);

/** The key of who has this id today, or else of who had it last, unless that is past. */
const findSubject = (table: 'users' | 'groups', key: string, deletion: ChangeKind) =>
  statement(
    `
  select coalesce(
    (select s.key from ${table} s where s.id_folded = $1),
    (select c.${key} from changes c
     where c.kind = ${numberOfKind(deletion)} and c.id_folded = $1 and c.at >= $2::timestamptz order by c.id desc limit 1)),
    ${REVISION}`,
    { tellsRevision: true },
  );

export const FIND_PERSON = findSubject('users', 'user_key', ChangeKind.USER_DELETED);
export const FIND_GROUP = findSubject('groups', 'group_key', ChangeKind.GROUP_DELETED);
