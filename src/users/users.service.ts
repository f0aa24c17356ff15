import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey } from '../database/fields/object-table.js';
import type { ProjectedColumns } from '../database/fields/projection.js';
import type { PageSource } from '../database/paging/page.js';
import type { Reader } from '../database/statements/statement.js';
import { joinedGroupProjection, GROUP_TABLE } from '../groups/group.queries.js';
import { MembershipList } from '../memberships/membership-list.js';
import { DirectoryObjects, withFormerNames } from '../memberships/directory-objects.js';
import type { User } from './user.model.js';
import type { UserListArguments } from './user-list.inputs.js';
import { userProjection, userSource, userTable } from './user.queries.js';

@Injectable()
export class UsersService extends DirectoryObjects<User, UserListArguments> {
  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    const fields = mapping.users.fields;
    const groups = joinedGroupProjection(mapping.groups.fields);
    super(userTable(fields), userProjection(fields), new MembershipList('groups', groups, fields));
  }

  /** The id of the user for whom a token acts, as the directory spells it; null: there is none. */
  async findIdOf({ subject }: Principal, reader: Reader): Promise<string | null> {
    return subject === null ? null : ((await this.find({ id: subject }, reader))?.id ?? null);
  }

  /** @throws NotFoundError when the group of the filter does not exist; BadUserInputError */
  async sourceOf(
    { filter: given, ...page }: UserListArguments,
    columns: ProjectedColumns,
    reader: Reader,
  ): Promise<PageSource> {
    const filter = given ? withFormerNames(given, 'inGroup', 'group', 'memberOf') : given;
    const { memberOf } = filter ?? {};
    const argument = given?.inGroup ? 'inGroup' : 'memberOf';
    const groupKey = memberOf ? await getKey(GROUP_TABLE, memberOf, argument, reader) : null;
    return userSource({ ...page, filter }, groupKey, columns, this.projection.fields);
  }
}
