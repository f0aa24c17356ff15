import { Inject, Injectable } from '@nestjs/common';
import { BadUserInputError } from '../common/errors.js';
import type { Field } from '../common/field.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey, ObjectTable } from '../database/fields/object-table.js';
import type { Projection } from '../database/fields/projection.js';
import { readPage, readPages } from '../database/paging/page.js';
import type { Reader } from '../database/statements/statement.js';
import type { SelectedObject } from '../graphql/analysis/selection.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import type { MembershipArguments } from '../memberships/membership.inputs.js';
import { MembershipList } from '../memberships/membership-list.js';
import { MembershipLookup } from '../memberships/membership-lookup.js';
import { userFields } from '../users/user.fields.js';
import { memberProjection, USER_TABLE } from '../users/user.queries.js';
import { groupFields } from './group.fields.js';
import type { GroupInput, Group } from './group.model.js';
import type { GroupListArguments } from './group-list.inputs.js';
import {
  groupProjection,
  GROUP_TABLE,
  groupSource,
  nestedGroupSource,
  type NestingDirection,
} from './group.queries.js';

@Injectable()
export class GroupsService {
  private readonly fields: readonly Field[];
  private readonly projection: Projection<Group>;
  private readonly lookup: MembershipLookup<Group>;
  private readonly table: ObjectTable<Group>;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.fields = groupFields(mapping.groups);
    this.projection = groupProjection(this.fields);
    const members = userFields(mapping.people);
    const list = new MembershipList('members', memberProjection(members), members);
    this.lookup = new MembershipLookup(GROUP_TABLE, this.projection, list);
    this.table = new ObjectTable(GROUP_TABLE, this.projection);
  }

  find(id: string, reader: Reader): Promise<Group | null> {
    return this.table.find(id, reader);
  }

  /** @throws NotFoundError */
  get(input: GroupInput, argument: string, reader: Reader): Promise<Group> {
    return this.table.get(input, argument, reader);
  }

  /** Reads what is selected of a group, together with a page of memberships if one is selected. */
  async findSelected(
    id: string,
    selected: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<Group | null> {
    const group = await this.lookup.find(id, selected, reader);
    return group === undefined ? this.find(id, reader) : group;
  }

  /** The group with a key, in one statement with the other groups that are requested at the same time. */
  findByKey(key: number, batches: Batches): Promise<Group | null> {
    return batches.load<Group | null>('groups by key', key, (keys, reader) =>
      this.table.listByKeys(keys, reader),
    );
  }

  /** @throws NotFoundError when the group of `parent` or the user of `hasMember` does not exist */
  async list(page: GroupListArguments, selection: PageSelection, reader: Reader): Promise<Connection<Group>> {
    const { hasMember, parent, role } = page.filter ?? {};
    if (role && !hasMember) throw new BadUserInputError('The filter role requires hasMember', 'role');
    const userKey = hasMember ? await getKey(USER_TABLE, hasMember, 'hasMember', reader) : null;
    const parentKey = parent ? await getKey(GROUP_TABLE, parent, 'parent', reader) : null;
    const columns = this.projection.select(selection.node);
    const source = groupSource(page, { userKey, parentKey }, columns, this.projection, this.fields);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => this.projection.mapRow(row, columns));
  }

  /** The groups that directly contain a group, or that it directly contains. */
  listNested(
    direction: NestingDirection,
    group: Group,
    page: PageArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<Group>> {
    const columns = this.projection.select(selection.node);
    const name = `${direction} ${selection.name} ${JSON.stringify(page)}`;
    return batches.load(name, group.key, async (keys, reader) => {
      const source = nestedGroupSource(direction, columns, this.projection);
      const pages = await readPages(reader, source, page, selection, keys);
      return pages.map((each) => Connection.of(each, (row) => this.projection.mapRow(row, columns)));
    });
  }
}
