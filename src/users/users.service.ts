import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { BadUserInputError } from '../common/errors.js';
import type { Field } from '../common/field.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey } from '../database/fields/object-table.js';
import type { ProjectedColumns } from '../database/fields/projection.js';
import type { PageSource } from '../database/paging/page-query.js';
import type { Reader } from '../database/statements/statement.js';
import { joinedGroupProjection, GROUP_TABLE } from '../groups/group.queries.js';
import { MembershipList } from '../memberships/membership-list.js';
import { DirectoryObjects } from '../memberships/directory-objects.js';
import type { User } from './user.model.js';
import type { UserFilter, UserListArguments } from './user-list.inputs.js';
import { userProjection, userSource, userTable } from './user.queries.js';

@Injectable()
export class UsersService extends DirectoryObjects<User, UserListArguments> {
  private readonly fields: readonly Field[];

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    const fields = mapping.users.fields;
    const groups = joinedGroupProjection(mapping.groups.fields);
    super(userTable(fields), userProjection(fields), new MembershipList('groups', groups, fields));
    this.fields = fields;
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
    const filter = given ? withDeprecatedNames(given) : given;
    const { memberOf, role } = filter ?? {};
    if (role && !memberOf) throw new BadUserInputError('The filter role requires memberOf', 'role');
    const argument = given?.inGroup ? 'inGroup' : 'memberOf';
    const groupKey = memberOf ? await getKey(GROUP_TABLE, memberOf, argument, reader) : null;
    return userSource({ ...page, filter }, groupKey, columns, this.fields);
  }
}

/** The filter with the group and the role of `inGroup` as `memberOf` and `role`. */
function withDeprecatedNames(filter: UserFilter): UserFilter {
  const { inGroup, ...others } = filter;
  if (!inGroup) return filter;
  if (others.memberOf ?? others.role) {
    throw new BadUserInputError('The filter inGroup takes the place of memberOf and role', 'inGroup');
  }
  return { ...others, memberOf: inGroup.group, role: inGroup.role ?? null };
}
