import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../common/errors.js';
import { foldId } from '../common/fold.js';
import type { PageArguments, PageSelection } from '../common/page.js';
import { readPages } from '../database/paging/page.js';
import type { Reader } from '../database/statements/reader.js';
import type { Batches } from '../graphql/execution/batches.js';
import { Connection } from '../graphql/schema/connection.js';
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

  /** The group with a key, in one statement with the others that are asked for at the same moment. */
  findByKey(key: number, batches: Batches): Promise<Group | null> {
    return batches.load<Group | null>('groups by key', key, async (keys, reader) => {
      const rows = await reader.read<GroupRow>(LIST_GROUPS_BY_KEY, [keys]);
      const groups = new Map(rows.map((row) => [row[0], groupOf(row)]));
      return keys.map((each) => groups.get(each) ?? null);
    });
  }

  /** The groups directly around a group, or directly inside it. */
  listNested(
    direction: 'parents' | 'subgroups',
    group: Group,
    page: PageArguments,
    selection: PageSelection,
    batches: Batches,
  ): Promise<Connection<Group>> {
    const name = `${direction} ${selection.name} ${JSON.stringify(page)}`;
    return batches.load(name, group.key, async (keys, reader) => {
      const pages = await readPages<GroupRow>(reader, nestedGroups(direction), page, selection, keys);
      return pages.map((each) => Connection.of(each, groupOf));
    });
  }
}
