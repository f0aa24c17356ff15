import { Inject, Injectable } from '@nestjs/common';
import { encodeCursors } from '../common/cursor.js';
import type { KeySeal } from '../common/key-seal.js';
import { NotFoundError } from '../common/errors.js';
import { lookupOf, type ObjectInput } from '../common/identity.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database, VisibleReader } from '../database/database.js';
import { notFound, type TableNames } from '../database/fields/object-table.js';
import { readPage } from '../database/paging/page.js';
import {
  type PageReader,
  type Reader,
  revisionOf,
  type Statement,
} from '../database/statements/statement.js';
import type { Viewer } from '../database/visibility/viewer.js';
import { Connection } from '../graphql/schema/connection.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import type { Change, ChangeFilter } from './change.model.js';
import {
  CHANGE_BINDING,
  changeOf,
  type ChangeRow,
  changeSource,
  type ChangeSubjects,
  findSubject,
  READ_END,
} from './change.queries.js';
import { findPlaces, type LogPlace, refuseLost } from './cursor-places.js';

/** A position in the log. */
export interface LogPosition {
  readonly number: number;
  readonly cursor: string;
  /** The log has no more changes after the position as of this revision. Null: it may have more. */
  readonly completeAt: string | null;
}

/** Changes that follow each other in the log, each with its cursor. */
export interface LogPart {
  readonly changes: readonly { readonly change: Change; readonly cursor: string }[];
  /** Where to continue, with any filter. */
  readonly end: LogPosition;
  readonly hasMore: boolean;
  /** Whether other viewers may see other changes. */
  readonly isPersonal: boolean;
}

/** The changes that a reader of parts selects. */
export interface PartFilter extends Pick<ChangeFilter, 'kinds'> {
  readonly groupKey?: number | null;
}

/** Everything but totals. */
const SELECTION: PageSelection = {
  cacheKey: 'part of the log',
  rows: true,
  cursors: 'every',
  totalCount: false,
  hasNextPage: true,
  hasPreviousPage: false,
  node: new Map(),
};

/** Reads the log of changes in parts, as one viewer sees it, for those who follow it without GraphQL. */
@Injectable()
export class ChangeLog {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Whether viewers with the same scopes may see different changes. */
  get isPersonal(): boolean {
    return this.database.hides;
  }

  /** Throws ServiceUnavailableError before the first revision. */
  async readEnd(viewer: Viewer): Promise<LogPosition> {
    const reader = new LogReader(this.database, viewer);
    const [[number] = [0]] = await reader.read<[number]>(READ_END);
    return positionAt(number, reader);
  }

  /** @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database */
  async readAfter(
    after: string,
    limit: number,
    { groupKey = null, ...filter }: PartFilter,
    viewer: Viewer,
  ): Promise<LogPart> {
    const reader = new LogReader(this.database, viewer);
    const page = { after, first: limit };
    const places = findPlaces(page, reader.seal);
    const asked = { page, places, filter, subjects: { userKey: null, groupKey }, days: this.days };
    const { connection, end } = await listChanges(asked, SELECTION, reader);
    const hasMore = connection.pageInfo.hasNextPage;
    const changes = connection.edges.map(({ node: change, cursor }) => ({ change, cursor }));
    const last = changes.at(-1);
    const reached = {
      number: last?.change.number ?? places[0]?.id ?? 0,
      cursor: last?.cursor ?? after,
      completeAt: null,
    };
    // The end was read after the page: only in the same revision there is nothing between the two.
    const isEnd = !hasMore && end !== null && reader.revision !== null;
    const { isPersonal } = reader;
    return { changes, hasMore, isPersonal, end: isEnd ? positionAt(end, reader) : reached };
  }

  /** The key of the group with an identity, for a viewer who may see it. Throws NotFoundError. */
  findGroup(group: ObjectInput, viewer: Viewer): Promise<number> {
    return getSubject(GROUP_TABLE, group, this.days, new LogReader(this.database, viewer));
  }

  private get days(): number {
    return this.config.directory.changesDays;
  }
}

/** What a page of the log is read by. */
interface AskedChanges {
  readonly page: PageArguments;
  /** Those of the cursors of the page. */
  readonly places: readonly LogPlace[];
  readonly filter: Omit<ChangeFilter, 'user' | 'group'>;
  readonly subjects: ChangeSubjects;
  /** Retention of changes. */
  readonly days: number;
}

/**
 * Reads a page, and the number of the end of the log if the page has a cursor.
 * @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if a cursor is not of this database
 */
export async function listChanges(
  { page, places, filter, subjects, days }: AskedChanges,
  selection: PageSelection,
  reader: PageReader,
): Promise<{ connection: Connection<Change>; end: number | null }> {
  const source = changeSource(filter, subjects, days);
  const rows = await readPage<ChangeRow>(reader, source, page, selection);
  let end: number | null = null;
  for (const place of places) end = await refuseLost(place, days, reader);
  return { connection: Connection.of(rows, (row) => changeOf(row, reader.seal)), end };
}

/** The key of the user or group that has an identity, or had it last. Throws NotFoundError. */
export async function getSubject(
  names: TableNames,
  input: ObjectInput,
  days: number,
  reader: Reader,
): Promise<number> {
  const { by, value } = lookupOf(names, input);
  const [[key] = [null]] = await reader.read<[number | null]>(findSubject(names, by), [value, days]);
  if (key !== null) return key;
  const { message } = notFound(names, names.noun, by);
  throw new NotFoundError(`${message}, and none was deleted recently`, names.noun);
}

/** Reads for one viewer, and notes the revisions that were read. */
class LogReader implements PageReader {
  private readonly visible: VisibleReader;
  private readonly revisions = new Set<string | null>();

  constructor(database: Database, viewer: Viewer) {
    this.visible = new VisibleReader(database, viewer);
  }

  async read<Row extends unknown[]>(asked: Statement, values?: readonly unknown[]): Promise<Row[]> {
    const rows = await this.visible.read<Row>(asked, values);
    if (rows.length > 0) this.revisions.add(revisionOf(asked, rows));
    return rows;
  }

  get seal(): KeySeal {
    return this.visible.seal;
  }

  get isPersonal(): boolean {
    return this.visible.isPersonal;
  }

  /** Null if more than one was read. */
  get revision(): string | null {
    const [revision = null] = this.revisions;
    return this.revisions.size === 1 ? revision : null;
  }
}

function positionAt(number: number, { seal, revision }: LogReader): LogPosition {
  const cursor = encodeCursors(seal, CHANGE_BINDING, [[number]], [revision ?? '']).join('');
  return { number, cursor, completeAt: revision };
}
