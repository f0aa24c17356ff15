import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { BadUserInputError } from '../common/errors.js';
import type { Field } from '../common/field.js';
import type { PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { getKey, ObjectTable } from '../database/fields/object-table.js';
import type { Projection } from '../database/fields/projection.js';
import { readPage } from '../database/paging/page.js';
import type { Reader } from '../database/statements/statement.js';
import type { SelectedObject } from '../graphql/analysis/selection.js';
import type { Batches } from '../graphql/http/request-context.js';
import { Connection } from '../graphql/schema/connection.js';
import { groupFields } from '../groups/group.fields.js';
import { joinedGroupProjection, GROUP_TABLE } from '../groups/group.queries.js';
import type { MembershipArguments } from '../memberships/membership.inputs.js';
import { MembershipList } from '../memberships/membership-list.js';
import { MembershipLookup } from '../memberships/membership-lookup.js';
import { userFields } from './user.fields.js';
import type { UserInput, User } from './user.model.js';
import type { UserListArguments } from './user-list.inputs.js';
import { userProjection, USER_TABLE, userSource } from './user.queries.js';

@Injectable()
export class UsersService {
  private readonly fields: readonly Field[];
  private readonly projection: Projection<User>;
  private readonly lookup: MembershipLookup<User>;
  private readonly table: ObjectTable<User>;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.fields = userFields(mapping.people);
    this.projection = userProjection(this.fields);
    const groups = joinedGroupProjection(groupFields(mapping.groups));
    this.lookup = new MembershipLookup(
      USER_TABLE,
      this.projection,
      new MembershipList('groups', groups, this.fields),
    );
    this.table = new ObjectTable(USER_TABLE, this.projection);
  }

  find(id: string, reader: Reader): Promise<User | null> {
    return this.table.find(id, reader);
  }

  /** @throws NotFoundError */
  get(input: UserInput, argument: string, reader: Reader): Promise<User> {
    return this.table.get(input, argument, reader);
  }

  /** Reads what is selected of a user, together with a page of memberships if one is selected. */
  async findSelected(
    id: string,
    selected: SelectedObject<MembershipArguments>,
    reader: Reader,
  ): Promise<User | null> {
    const user = await this.lookup.find(id, selected, reader);
    return user === undefined ? this.find(id, reader) : user;
  }

  /** The user with a key, in one statement with the other users that are requested at the same time. */
  findByKey(key: number, batches: Batches): Promise<User | null> {
    return batches.load<User | null>('users by key', key, (keys, reader) =>
      this.table.listByKeys(keys, reader),
    );
  }

  /** The id of the user for whom a token acts, as the directory spells it; null: there is none. */
  async findIdOf({ subject }: Principal, reader: Reader): Promise<string | null> {
    return subject === null ? null : ((await this.find(subject, reader))?.id ?? null);
  }

  /** @throws NotFoundError when the group of `memberOf` does not exist */
  async list(page: UserListArguments, selection: PageSelection, reader: Reader): Promise<Connection<User>> {
    const { memberOf, role } = page.filter ?? {};
    if (role && !memberOf) throw new BadUserInputError('The filter role requires memberOf', 'role');
    const groupKey = memberOf ? await getKey(GROUP_TABLE, memberOf, 'memberOf', reader) : null;
    const columns = this.projection.select(selection.node);
    const source = userSource(page, groupKey, columns, this.projection, this.fields);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => this.projection.mapRow(row, columns));
  }
}
