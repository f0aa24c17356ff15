import { Inject, Injectable } from '@nestjs/common';
import { BadUserInputError } from '../common/errors.js';
import type { Field } from '../common/field.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey, type TableNames } from '../database/fields/object-table.js';
import type { ProjectedColumns } from '../database/fields/projection.js';
import { readPages } from '../database/paging/page.js';
import type { PageSource } from '../database/paging/page-query.js';
import type { Reader } from '../database/statements/statement.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { MembershipList } from '../memberships/membership-list.js';
import { DirectoryObjects } from '../memberships/directory-objects.js';
import { memberProjection, userTable } from '../users/user.queries.js';
import type { Group } from './group.model.js';
import type { GroupFilter, GroupListArguments } from './group-list.inputs.js';
import {
  groupProjection,
  GROUP_TABLE,
  groupSource,
  nestedGroupSource,
  type NestingDirection,
} from './group.queries.js';

@Injectable()
export class GroupsService extends DirectoryObjects<Group, GroupListArguments> {
  private readonly fields: readonly Field[];
  private readonly users: TableNames;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    const fields = mapping.groups.fields;
    const members = mapping.users.fields;
    super(
      GROUP_TABLE,
      groupProjection(fields),
      new MembershipList('members', memberProjection(members), members),
    );
    this.fields = fields;
    this.users = userTable(members);
  }

  /** @throws NotFoundError when the parent or the user of the filter does not exist; BadUserInputError */
  async sourceOf(
    { filter: given, ...page }: GroupListArguments,
    columns: ProjectedColumns,
    reader: Reader,
  ): Promise<PageSource> {
    const filter = given ? withDeprecatedNames(given) : given;
    const { hasMember, parent, role } = filter ?? {};
    if (role && !hasMember) throw new BadUserInputError('The filter role requires hasMember', 'role');
    const argument = given?.withMember ? 'withMember' : 'hasMember';
    const userKey = hasMember ? await getKey(this.users, hasMember, argument, reader) : null;
    const parentKey = parent ? await getKey(GROUP_TABLE, parent, 'parent', reader) : null;
    return groupSource({ ...page, filter }, { userKey, parentKey }, columns, this.fields);
  }

  listNested(
    direction: NestingDirection,
    group: Group,
    page: PageArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<Group>> {
    const columns = this.projection.select(selection.node);
    const name = `${direction} ${selection.cacheKey} ${JSON.stringify(page)}`;
    return batches.load(name, group.key, async (keys, reader) => {
      const source = nestedGroupSource(direction, columns);
      const pages = await readPages(reader, source, page, selection, keys);
      return pages.map((each) => Connection.of(each, (row) => this.projection.mapRow(row, columns)));
    });
  }
}

/** The filter with the user and the role of `withMember` as `hasMember` and `role`. */
function withDeprecatedNames(filter: GroupFilter): GroupFilter {
  const { withMember, ...others } = filter;
  if (!withMember) return filter;
  if (others.hasMember ?? others.role) {
    throw new BadUserInputError('The filter withMember takes the place of hasMember and role', 'withMember');
  }
  return { ...others, hasMember: withMember.user, role: withMember.role ?? null };
}
