import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { BadUserInputError } from '../common/errors.js';
import type { Field } from '../common/field.js';
import { foldId } from '../common/fold.js';
import type { PageSelection } from '../common/page.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { Projection } from '../database/fields/projection.js';
import { readPage } from '../database/paging/page.js';
import type { Reader } from '../database/statements/reader.js';
import type { Statement } from '../database/statements/statement.js';
import type { SelectedObject } from '../graphql/analysis/selection.js';
import type { Batches } from '../graphql/execution/batches.js';
import { Connection } from '../graphql/schema/connection.js';
import { groupFields } from '../groups/group.fields.js';
import { joinedGroupProjection } from '../groups/group.projections.js';
import { getGroupKey } from '../groups/group.queries.js';
import type { MembershipArguments } from '../memberships/membership.inputs.js';
import { MembershipList } from '../memberships/membership-list.js';
import { MembershipLookup } from '../memberships/membership-lookup.js';
import { userFields } from './user.fields.js';
import type { UserInput } from './user.inputs.js';
import type { UserListArguments } from './user-list.inputs.js';
import type { User } from './user.model.js';
import { userProjection } from './user.projections.js';
import { findUserStatement, listUsersByKeyStatement, userNotFound, userSource } from './user.queries.js';

const PARENT = { table: 'users', alias: 'u', total: 'u.group_count' } as const;

@Injectable()
export class UsersService {
  private readonly fields: readonly Field[];
  private readonly projection: Projection<User>;
  private readonly lookup: MembershipLookup<User>;
  private readonly findUser: Statement;
  private readonly listByKey: Statement;

  constructor(@Inject(CONFIG) { directory: { mapping } }: Config) {
    this.fields = userFields(mapping.people);
    this.projection = userProjection(this.fields);
    const groups = joinedGroupProjection(groupFields(mapping.groups));
    this.lookup = new MembershipLookup(
      PARENT,
      this.projection,
      new MembershipList('groups', groups, this.fields),
    );
    this.findUser = findUserStatement(this.projection);
    this.listByKey = listUsersByKeyStatement(this.projection);
  }

  async find(id: string, reader: Reader): Promise<User | null> {
    const [row] = await reader.read(this.findUser, [foldId(id)]);
    return row === undefined || row[0] === null ? null : this.projection.mapRow(row, this.projection.all);
  }

  /** @throws NotFoundError */
  async get({ id }: UserInput, argument: string, reader: Reader): Promise<User> {
    const user = await this.find(id, reader);
    if (user === null) throw userNotFound(argument);
    return user;
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
    return batches.load<User | null>('users by key', key, async (keys, reader) => {
      const rows = await reader.read(this.listByKey, [keys]);
      const users = rows.map((row) => this.projection.mapRow(row, this.projection.all));
      const byKey = new Map(users.map((user) => [user.key, user]));
      return keys.map((each) => byKey.get(each) ?? null);
    });
  }

  /** The id of the user for whom a token acts, as the directory spells it; null: there is none. */
  async findIdOf({ subject }: Principal, reader: Reader): Promise<string | null> {
    return subject === null ? null : ((await this.find(subject, reader))?.id ?? null);
  }

  /** @throws NotFoundError when the group of `memberOf` does not exist */
  async list(page: UserListArguments, selection: PageSelection, reader: Reader): Promise<Connection<User>> {
    const { memberOf, role } = page.filter ?? {};
    if (role && !memberOf) throw new BadUserInputError('The filter role requires memberOf', 'role');
    const groupKey = memberOf ? await getGroupKey(memberOf, 'memberOf', reader) : null;
    const columns = this.projection.select(selection.node);
    const source = userSource(page, groupKey, columns, this.projection, this.fields);
    const rows = await readPage(reader, source, page, selection);
    return Connection.of(rows, (row) => this.projection.mapRow(row, columns));
  }
}
