import { Injectable } from '@nestjs/common';
import { BadUserInputError } from '../common/errors.js';
import type { PageSelection } from '../common/page.js';
import { readPage } from '../database/paging/page.js';
import type { Reader } from '../database/statements/reader.js';
import { Connection } from '../graphql/schema/connection.js';
import { Group } from '../groups/group.model.js';
import { GroupsService } from '../groups/groups.service.js';
import { User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import type { GroupListArguments, UserListArguments } from './directory-list.inputs.js';
import { groupSource, userSource } from './directory-list.queries.js';
import { LISTED_GROUP, LISTED_USER, listedIn, listedOf } from './shown.js';

/** Everybody and every group, chosen by who belongs to what among other things. */
@Injectable()
export class DirectoryListService {
  constructor(
    private readonly users: UsersService,
    private readonly groups: GroupsService,
  ) {}

  /** @throws NotFoundError when the group of `memberOf` does not exist */
  async listUsers(
    page: UserListArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<User>> {
    const { memberOf, role } = page.filter ?? {};
    if (role && !memberOf)
      throw new BadUserInputError('role asks about a group: name it in memberOf', 'role');
    const group = memberOf ? await this.groups.get(memberOf, 'memberOf', reader) : null;
    const shown = listedOf(LISTED_USER, selection.node);
    const source = userSource(page, group?.key ?? null, shown);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => listedIn(row, shown, new User()));
  }

  /** @throws NotFoundError when the group of `parent` or the person of `hasMember` does not exist */
  async listGroups(
    page: GroupListArguments,
    selection: PageSelection,
    reader: Reader,
  ): Promise<Connection<Group>> {
    const { hasMember, parent, role } = page.filter ?? {};
    if (role && !hasMember)
      throw new BadUserInputError('role asks about a person: name them in hasMember', 'role');
    const user = hasMember ? await this.users.get(hasMember, 'hasMember', reader) : null;
    const outer = parent ? await this.groups.get(parent, 'parent', reader) : null;
    const shown = listedOf(LISTED_GROUP, selection.node);
    const source = groupSource(page, user?.key ?? null, outer?.key ?? null, shown);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => listedIn(row, shown, new Group()));
  }
}
