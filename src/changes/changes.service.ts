import { Inject, Injectable } from '@nestjs/common';
import { decodeCursor } from '../common/cursor.js';
import { NotFoundError, ServiceError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { readPage } from '../database/page.js';
import type { Reader } from '../database/reader.js';
import type { Statement } from '../database/statement.js';
import type { Batches } from '../graphql/batches.js';
import { Connection } from '../graphql/connection.js';
import type { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import type { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import type { ChangeListArguments } from './change.inputs.js';
import type { Change } from './change.model.js';
import {
  CHANGE_BINDING,
  changeOf,
  type ChangeRow,
  changeSource,
  FIND_GROUP,
  FIND_PERSON,
  READ_PAST,
} from './change.queries.js';
import { changesKeptSince } from './retention.js';

/** What synchronisation has changed, for whoever keeps a copy of the directory. */
@Injectable()
export class ChangesService {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * @throws NotFoundError when nobody and nothing has, or had last, the id of `user` or `group`
   * @throws ServiceError CHANGE_CURSOR_EXPIRED when changes that come after a cursor are past
   */
  async list(
    page: ChangeListArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<Change>> {
    const keptSince = changesKeptSince(new Date(), this.config.directory.changesDays);
    const { user, group, ...filter } = page.filter ?? {};
    const subjects = {
      userKey: user ? await getKey(reader, FIND_PERSON, [foldId(user.id), keptSince], 'user') : null,
      groupKey: group ? await getKey(reader, FIND_GROUP, [foldId(group.id), keptSince], 'group') : null,
    };
    const source = changeSource(filter, subjects, keptSince);
    const rows = await readPage<ChangeRow>(reader, source, page, selection);
    await refuseExpired(page, keptSince, reader);
    return Connection.of(rows, changeOf);
  }

  async findUser({ userKey }: Change, batches: Batches): Promise<User | null> {
    return userKey === null ? null : this.users.findByKey(userKey, batches);
  }

  async findGroup({ groupKey }: Change, batches: Batches): Promise<Group | null> {
    return groupKey === null ? null : this.groups.findByKey(groupKey, batches);
  }
}

async function getKey(
  reader: Reader,
  statement: Statement,
  values: readonly unknown[],
  argument: 'user' | 'group',
): Promise<number> {
  const [[key] = [null]] = await reader.read<[number | null]>(statement, values);
  if (key !== null) return key;
  const nobody = argument === 'user' ? 'There is no person' : 'There is no group';
  throw new NotFoundError(`${nobody} with this id, nor was there one lately`, argument);
}

/** After the page has been read: what is past by now was still there then. */
async function refuseExpired(page: PageArguments, keptSince: Date, reader: Reader): Promise<void> {
  for (const argument of ['after', 'before'] as const) {
    const cursor = page[argument];
    if (cursor === undefined || cursor === null) continue;
    const [place = 0] = decodeCursor(cursor, CHANGE_BINDING, ['number'], argument);
    const [[past] = [0]] = await reader.read<[number]>(READ_PAST, [keptSince]);
    if (Number(place) >= past) continue;
    throw new ServiceError(
      'CHANGE_CURSOR_EXPIRED',
      `Changes after the cursor in ${argument} are no longer kept: read everything anew, and go on from the latest cursor`,
      { argument },
    );
  }
}
