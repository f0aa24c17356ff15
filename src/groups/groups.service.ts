import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import { readPages } from '../database/page.js';
import type { Reader } from '../database/reader.js';
import type { Batches } from '../graphql/batches.js';
import { Connection } from '../graphql/connection.js';
import type { GroupInput } from './group.inputs.js';
import type { Group } from './group.model.js';
import {
  FIND_GROUP,
  findGroupOf,
  groupOf,
  type GroupRow,
  LIST_GROUPS_BY_KEY,
  nestedGroups,
} from './group.queries.js';

/** Groups, one by one, and which contains which. */
@Injectable()
export class GroupsService {
  async find(id: string, reader: Reader): Promise<Group | null> {
    const [row] = await reader.read<GroupRow>(FIND_GROUP, [foldId(id)]);
    return findGroupOf(row);
  }

  /** @throws NotFoundError */
  async get({ id }: GroupInput, argument: string, reader: Reader): Promise<Group> {
    const group = await this.find(id, reader);
    if (group === null) throw new NotFoundError('There is no group with this id', argument);
    return group;
  }

  /** The groups with these keys, in their order. */
  async listByKey(keys: readonly number[], reader: Reader): Promise<Group[]> {
    const rows = await reader.read<GroupRow>(LIST_GROUPS_BY_KEY, [keys]);
    const groups = new Map(rows.map((row) => [row[0], groupOf(row)]));
    return keys.flatMap((key) => groups.get(key) ?? []);
  }

  /** The groups directly around a group, or directly inside it. */
  listNested(
    direction: 'parents' | 'subgroups',
    group: Group,
    page: PageArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<Group>> {
    return batches.load(JSON.stringify([direction, page, selection]), group.key, async (keys, reader) => {
      const pages = await readPages<GroupRow>(reader, nestedGroups(direction), page, selection, keys);
      return pages.map((each) => Connection.of(each, groupOf));
    });
  }
}
