import { Inject, Injectable } from '@nestjs/common';
import { type CursorValue, encodeCursors } from '../common/cursor.js';
import type { PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { PageReader } from '../database/statements/statement.js';
import type { Batches } from '../graphql/http/request-context.js';
import type { Connection } from '../graphql/schema/connection.js';
import type { Group } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import { GroupsService } from '../groups/groups.service.js';
import type { User } from '../users/user.model.js';
import { userTable } from '../users/user.queries.js';
import { UsersService } from '../users/users.service.js';
import { getSubject, listChanges } from './change-log.js';
import type { ChangeListArguments, Change } from './change.model.js';
import { CHANGE_BINDING, READ_START } from './change.queries.js';
import { findPlaces } from './cursor-places.js';

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
    reader: PageReader,
  ): Promise<Connection<Change>> {
    const places = findPlaces(page, reader.seal);
    const { changesDays: days, mapping } = this.config.directory;
    const { user, group, ...filter } = page.filter ?? {};
    const subjects = {
      userKey: user ? await getSubject(userTable(mapping.users.fields), user, days, reader) : null,
      groupKey: group ? await getSubject(GROUP_TABLE, group, days, reader) : null,
    };
    const { connection } = await listChanges({ page, places, filter, subjects, days }, selection, reader);
    return connection;
  }

  /** The cursor after which the log is complete. It remains valid until a later change expires. */
  async getStart(reader: PageReader): Promise<string> {
    const { changesDays } = this.config.directory;
    const [start = []] = await reader.read<CursorValue[]>(READ_START, [changesDays]);
    const [id = 0, ...revision] = start;
    return encodeCursors(reader.seal, CHANGE_BINDING, [[id]], revision).join('');
  }

  async findUser({ userKey }: Change, batches: Batches): Promise<User | null> {
    return userKey === null ? null : this.users.findByKey(userKey, batches);
  }

  async findGroup({ groupKey }: Change, batches: Batches): Promise<Group | null> {
    return groupKey === null ? null : this.groups.findByKey(groupKey, batches);
  }
}
