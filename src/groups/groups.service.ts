import { Inject, Injectable } from '@nestjs/common';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey, type TableNames } from '../database/fields/object-table.js';
import type { ProjectedColumns } from '../database/fields/projection.js';
import { type PageSource, readPages } from '../database/paging/page.js';
import type { Reader } from '../database/statements/statement.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { MembershipList } from '../memberships/membership-list.js';
import { DirectoryObjects, withFormerNames } from '../memberships/directory-objects.js';
import { memberProjection, userTable } from '../users/user.queries.js';
import type { Group } from './group.model.js';
import type { GroupListArguments } from './group-list.inputs.js';
import {
  groupProjection,
  GROUP_TABLE,
  groupSource,
  nestedGroupSource,
  type NestingDirection,
} from './group.queries.js';

@Injectable()
export class GroupsService extends DirectoryObjects<Group, GroupListArguments> {
  private readonly users: TableNames;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    const fields = mapping.groups.fields;
    const members = mapping.users.fields;
    super(
      GROUP_TABLE,
      groupProjection(fields),
      new MembershipList('members', memberProjection(members), members),
    );
    this.users = userTable(members);
  }

  /** @throws NotFoundError when the parent or the user of the filter does not exist; BadUserInputError */
  async sourceOf(
    { filter: given, ...page }: GroupListArguments,
    columns: ProjectedColumns,
    reader: Reader,
  ): Promise<PageSource> {
    const filter = given ? withFormerNames(given, 'withMember', 'user', 'hasMember') : given;
    const { hasMember, parent } = filter ?? {};
    const argument = given?.withMember ? 'withMember' : 'hasMember';
    const userKey = hasMember ? await getKey(this.users, hasMember, argument, reader) : null;
    const parentKey = parent ? await getKey(GROUP_TABLE, parent, 'parent', reader) : null;
    return groupSource({ ...page, filter }, { userKey, parentKey }, columns, this.projection.fields);
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
