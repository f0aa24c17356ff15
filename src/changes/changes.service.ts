import { Inject, Injectable } from '@nestjs/common';
import { decodeCursor } from '../common/cursor.js';
import { NotFoundError, ServiceError } from '../common/errors.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { readPage } from '../database/paging/page.js';
import type { Reader } from '../database/statements/statement.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { notFound, type TableNames } from '../database/fields/object-table.js';
import { lookupOf, type ObjectInput } from '../common/identity.js';
import type { Group } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { GroupsService } from '../groups/groups.service.js';
import type { User } from '../users/user.model.js';
import { userTable } from '../users/user.queries.js';
import { UsersService } from '../users/users.service.js';
import type { ChangeListArguments, Change } from './change.model.js';
import {
  CHANGE_BINDING,
  changeOf,
  type ChangeRow,
  changeSource,
  findSubject,
  READ_PAST,
} from './change.queries.js';

/** The log of changes, for clients that keep a copy of the directory. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Throws NotFoundError for an unknown `user` or `group`.
   * @throws ServiceError CHANGE_CURSOR_EXPIRED; INVALID_CURSOR if the cursor is not of this database
   */
  async list(
    page: ChangeListArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<Change>> {
    const places = findPlaces(page);
    const { changesDays, mapping } = this.config.directory;
    const { user, group, ...filter } = page.filter ?? {};
    const subjects = {
      userKey: user ? await getKey(userTable(mapping.users.fields), user, changesDays, reader) : null,
      groupKey: group ? await getKey(GROUP_TABLE, group, changesDays, reader) : null,
    };
    const source = changeSource(filter, subjects, changesDays);
    const rows = await readPage<ChangeRow>(reader, source, page, selection);
    for (const place of places) await refuseLost(place, changesDays, reader);
    return Connection.of(rows, changeOf);
  }

  async findUser({ userKey }: Change, batches: Batches): Promise<User | null> {
    return userKey === null ? null : this.users.findByKey(userKey, batches);
  }

  async findGroup({ groupKey }: Change, batches: Batches): Promise<Group | null> {
    return groupKey === null ? null : this.groups.findByKey(groupKey, batches);
  }
}

async function getKey(names: TableNames, input: ObjectInput, days: number, reader: Reader): Promise<number> {
  const { by, value } = lookupOf(names, input);
  const [[key] = [null]] = await reader.read<[number | null]>(findSubject(names, by), [value, days]);
  if (key !== null) return key;
  const { message } = notFound(names, names.noun, by);
  throw new NotFoundError(`${message}, and none was deleted recently`, names.noun);
}

/** The position of a cursor in the log, and the revision from which it was read. */
interface Place {
  readonly argument: 'after' | 'before';
  readonly id: number;
  readonly revision: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @throws ServiceError INVALID_CURSOR when a cursor is not of this log; those of the first release have no revision */
function findPlaces(page: PageArguments): Place[] {
  return (['after', 'before'] as const).flatMap((argument) => {
    const cursor = page[argument];
    if (cursor === undefined || cursor === null) return [];
    const [id, revision] = decodeChangeCursor(cursor, argument);
    if (!UUID.test(revision)) throw lostCursor(argument);
    return [{ argument, id, revision }];
  });
}

function decodeChangeCursor(cursor: string, argument: Place['argument']): [id: number, revision: string] {
  try {
    const [id, revision] = decodeCursor(cursor, CHANGE_BINDING, ['number', 'string'], argument);
    return [Number(id), String(revision)];
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'INVALID_CURSOR') throw lostCursor(argument);
    throw error;
  }
}

/** Checked after the page has been read, because changes may expire in between. */
async function refuseLost({ argument, id, revision }: Place, days: number, reader: Reader): Promise<void> {
  const [row] = await reader.read<[past: number]>(READ_PAST, [days, revision, id]);
  if (row === undefined) throw lostCursor(argument);
  if (id >= row[0]) return;
  throw new ServiceError(
    'CHANGE_CURSOR_EXPIRED',
    `Changes after the cursor in ${argument} are no longer kept: read everything again, and continue from the latest cursor`,
    { argument },
  );
}

function lostCursor(argument: Place['argument']): ServiceError {
  return new ServiceError(
    'INVALID_CURSOR',
    `The cursor in ${argument} is not of the changes of this service: read everything again, and continue from the latest cursor`,
    { argument },
  );
}
