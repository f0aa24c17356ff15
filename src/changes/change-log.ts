import { Injectable } from '@nestjs/common';
import { kindNumbered, numberOfKind } from '../common/change-kind.js';
import { bindCursor, type KeySeal, readCursor } from '../common/cursor.js';
import { NotFoundError, ServiceError } from '../common/errors.js';
import { isUuid, lookupOf, nodeIdOf, type ObjectInput } from '../common/identity.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import { Database, VisibleReader } from '../database/database.js';
import { instantText } from '../database/fields/projection.js';
import { lookupCondition, notFound, type TableNames } from '../database/fields/object-table.js';
import { type PageSource, readPage } from '../database/paging/page.js';
import { type Reader, REVISION, statement, Values } from '../database/statements/statement.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { Connection } from '../graphql/schema/connection.js';
import { roleOf } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { Change, type ChangeFilter } from './change.model.js';

const COLUMNS = [
  'c.id::text',
  'c.kind',
  instantText('c.at'),
  ...['user_key', 'user_id', 'user_uuid', 'group_key', 'group_id', 'group_uuid'].map((name) => `c.${name}`),
  ...['id_before', 'role_before', 'role_after'].map((name) => `c.${name}`),
];

type SubjectOfRow = [key: number | null, id: string | null, uuid: string | null];
type Differences = [previousId: string | null, roleBefore: number | null, roleAfter: number | null];
type ChangeRow = [id: string, kind: number, at: string, ...SubjectOfRow, ...SubjectOfRow, ...Differences];

/** A cursor is a position in the whole log, and goes with every filter. */
const BINDING = bindCursor('changes', {}, {});

function changeOf(row: ChangeRow, seal: KeySeal): Change {
  const change = new Change();
  const [id, kind, at, userKey, userId, userUuid, groupKey, groupId, groupUuid, previousId, before, after] =
    row;
  [change.id = ''] = seal.seal([Number(id)], BINDING);
  Object.assign(change, { at: new Date(at), userKey, userId, groupKey, groupId, previousId });
  change.kind = kindNumbered(kind);
  change.userNodeId = userUuid && nodeIdOf('User', userUuid);
  change.groupNodeId = groupUuid && nodeIdOf('Group', groupUuid);
  change.roleBefore = before === null ? null : roleOf(before);
  change.roleAfter = after === null ? null : roleOf(after);
  return change;
}

/** What selects changes, after the user and the group were looked up. */
export interface LogFilter extends Pick<ChangeFilter, 'kinds' | 'since'> {
  readonly userKey?: number | null;
  readonly groupKey?: number | null;
}

/** The log, oldest first. */
export function changeSource(filter: LogFilter): PageSource {
  const values = new Values();
  const { since = null, kinds = null, userKey = null, groupKey = null } = filter;
  const numbers = [...new Set(kinds ?? [])].map(numberOfKind);
  const conditions: string[] = [];
  if (since !== null)
    conditions.push(
      `c.id >= (select f.id from changes f where f.at >= ${values.add(since)}::timestamptz order by f.at, f.id limit 1)`,
    );
  if (userKey !== null) conditions.push(`c.user_key = ${values.add(userKey)}::integer`);
  if (groupKey !== null) conditions.push(`c.group_key = ${values.add(groupKey)}::integer`);
  if (kinds !== null) conditions.push(`c.kind = any (${values.add(numbers)}::smallint[])`);
  // A user or a group has few changes. Without one, each kind is read from its own range of an index.
  const hasParts = userKey === null && groupKey === null && numbers.length > 0;
  const tables = numbers.map((number) => `(select * from changes where kind = ${number}) c`);
  return {
    binding: () => BINDING,
    cursorsHaveRevision: true,
    from: 'changes c',
    columns: COLUMNS,
    underParent: null,
    order: { columns: [{ sql: 'c.id', type: 'number' }], direction: 'ASC' },
    ...(hasParts && { parts: { alias: 'c', tables: [tables], joins: '' } }),
    conditions,
    values,
    ...(conditions.length === 0 && { total: '(select m.change_count from mirror_state m)' }),
  };
}

/** SQL for the number at the end of the log: the highest one, of a change that is kept or was deleted. */
const END = `(select greatest(m.changes_pruned_to, (select max(n.id) from changes n))::float8 from mirror_state m)`;

/** After `start`, every change can be read. `isKnown`: the database once had the revision that is asked for. */
type LogState = [start: number, end: number, isKnown: boolean, revision: string];

const READ_STATE = statement(
  `
  select m.changes_pruned_to::float8, ${END}, exists (select from revisions r where r.uuid = $1::uuid), m.revision_uuid
  from mirror_state m`,
  { returnsRevision: true },
);

async function readState(reader: Reader, revision: string | null): Promise<LogState> {
  const [state = [0, 0, false, '']] = await reader.read<LogState>(READ_STATE, [revision]);
  return state;
}

/**
 * Reads a page, and then checks its cursors, because changes may be deleted in between.
 * @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if a cursor is not of this database
 */
export async function listChanges(
  page: PageArguments,
  source: PageSource,
  selection: PageSelection,
  reader: Reader,
): Promise<Connection<Change>> {
  const rows = await readPage<ChangeRow>(reader, source, page, selection);
  for (const argument of ['after', 'before'] as const) {
    const cursor = page[argument] ?? null;
    if (cursor !== null) await refuseLost(cursor, argument, reader);
  }
  return Connection.of(rows, (row) => changeOf(row, reader.seal));
}

/** Returns the current revision. */
async function refuseLost(cursor: string, argument: 'after' | 'before', reader: Reader): Promise<string> {
  const [place, given] = reader.seal.decode(cursor, BINDING, ['key', 'string'], argument);
  const [start, end, isKnown, read] = await readState(reader, isUuid(given) ? given : null);
  const lost = (code: 'CHANGE_CURSOR_EXPIRED' | 'INVALID_CURSOR', fault: string) =>
    new ServiceError(code, `${fault}: read everything again`, { argument });
  // First, because revisions are deleted with their changes.
  if (Number(place) < start)
    throw lost('CHANGE_CURSOR_EXPIRED', `Changes after the cursor in ${argument} are no longer kept`);
  if (!isKnown || Number(place) > end)
    throw lost('INVALID_CURSOR', `The cursor in ${argument} is not of the changes of this service`);
  return read;
}

/** Whether a cursor was of another database, or is too old: it is gone for good. */
export function isLost(error: unknown): error is ServiceError {
  return error instanceof ServiceError && ['INVALID_CURSOR', 'CHANGE_CURSOR_EXPIRED'].includes(error.code);
}

/** Whether a text has the form of a cursor of changes, of this database or of another one. */
export function isChangeCursor(cursor: string): boolean {
  const [binding, place, revision] = readCursor(cursor);
  return binding === BINDING && typeof place === 'string' && isUuid(revision);
}

/** The cursor after which the log is complete. It remains valid until a later change is deleted. */
export async function readStart(reader: Reader): Promise<string> {
  const [start, , , revision] = await readState(reader, null);
  return cursorAt(start, revision, reader);
}

/**
 * The key of the user or group that has an identity now, or else that had it last, if the log still has its deletion. The log has no
 * addresses. Throws NotFoundError.
 */
export async function getSubject(names: TableNames, input: ObjectInput, reader: Reader): Promise<number> {
  const { by, value } = lookupOf(names, input);
  const { table, noun } = names;
  const deletion = numberOfKind(noun === 'user' ? 'USER_DELETED' : 'GROUP_DELETED');
  const former = by === 'id' ? 'c.id_folded = $1' : `c.${noun}_uuid = $1::uuid`;
  const deleted = `(select c.${noun}_key from changes c where c.kind = ${deletion} and ${former} order by c.id desc limit 1)`;
  const find = statement(
    `
  select coalesce(
    (select s.key from ${table} s where ${lookupCondition(names, by, 's', '$1')}),
    ${by === 'email' ? 'null' : deleted}),
    ${REVISION}`,
    { returnsRevision: true },
  );
  const [[key] = [null]] = await reader.read<[number | null]>(find, [value]);
  if (key !== null) return key;
  throw new NotFoundError(`${notFound(names, noun, by).message}, and none was deleted recently`, noun);
}

/** Changes that one statement reads for a follower. */
const PART_SIZE = 200;
const PART: PageSelection = {
  cacheKey: 'part of the log',
  rows: true,
  cursors: 'every',
  totalCount: true,
  hasNextPage: true,
  hasPreviousPage: false,
  node: new Map(),
};

/** The log of changes as one viewer sees it, for those who follow it without GraphQL: they read a part, and wait for news. */
@Injectable()
export class ChangeLog {
  /** Grows with each revision. Followers note it before they read, so that what comes meanwhile ends their pause. */
  news = 0;
  private readonly pauses = new Set<() => void>();

  constructor(private readonly database: Database) {
    database.revisions.onChanged(() => {
      this.wake();
    });
  }

  /** Ends the pauses of all followers. */
  wake(): void {
    this.news++;
    for (const end of this.pauses) end();
  }

  /** Waits until there is other news, and so long at most. A timer each costs less than a signal that thousands listen to. */
  async pause(milliseconds: number, news: number): Promise<void> {
    if (this.news !== news) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds).unref();
      this.pauses.add(end);
    });
  }

  /** Throws ServiceUnavailableError before the first revision. */
  async readEnd(viewer: Viewer): Promise<string> {
    const reader = new VisibleReader(this.database, viewer);
    const [, end, , revision] = await readState(reader, null);
    return cursorAt(end, revision, reader);
  }

  /**
   * Changes that follow each other, and the cursor `end` after which to continue, with any filter. If they are personal, other viewers
   * may see others.
   * @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database
   */
  async readAfter(after: string, filter: LogFilter, viewer: Viewer) {
    const reader = new VisibleReader(this.database, viewer);
    // The end is read in place of the total, and so as of the same revision as the changes.
    const source = { ...changeSource(filter), total: END };
    const page = await readPage<ChangeRow>(reader, source, { after, first: PART_SIZE }, PART);
    const revision = await refuseLost(after, 'after', reader);
    const { edges } = Connection.of(page, (row) => changeOf(row, reader.seal));
    const { hasNextPage: hasMore, totalCount } = page;
    const end = (hasMore && edges.at(-1)?.cursor) || cursorAt(totalCount, revision, reader);
    return { edges, hasMore, isPersonal: reader.isPersonal, end };
  }

  /** The key of the group with an identity, for a viewer who may see it. Throws NotFoundError. */
  findGroup(group: ObjectInput, viewer: Viewer): Promise<number> {
    return getSubject(GROUP_TABLE, group, new VisibleReader(this.database, viewer));
  }
}

function cursorAt(number: number, revision: string, { seal }: { readonly seal: KeySeal }): string {
  return seal.encode(BINDING, [[number]], [revision]).join('');
}
