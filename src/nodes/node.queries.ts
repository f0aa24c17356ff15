import type { Projection } from '../database/fields/projection.js';
import { IS_COMPLETE, type Reader, type Statement, statement } from '../database/statements/statement.js';
import type { Group } from '../groups/group.model.js';
import { GROUP_TABLE } from '../groups/group.queries.js';
import type { User } from '../users/user.model.js';
import { USER_TABLE } from '../users/user.queries.js';

type Table = typeof USER_TABLE | typeof GROUP_TABLE;

/** The objects of one table as the statement returns them: the columns of each in their order. Null: there are none. */
type FoundRows = readonly object[] | null;

/** Reads users and groups by their entryUUIDs, in one statement for both. */
export class NodeQuery {
  private readonly find: Statement;

  constructor(
    private readonly users: Projection<User>,
    private readonly groups: Projection<Group>,
  ) {
    this.find = statement(
      `select ${rowsOf(USER_TABLE, users, '$1')},
       ${rowsOf(GROUP_TABLE, groups, '$2')}, s.revision_uuid
     from mirror_state s where ${IS_COMPLETE}`,
      { returnsRevision: true },
    );
  }

  /** @param keys names of the table and entryUUIDs, separated by a space */
  async read(keys: readonly string[], reader: Reader): Promise<(User | Group | null)[]> {
    const uuidsOf = ({ table }: Table) =>
      keys.filter((key) => key.startsWith(`${table} `)).map((key) => key.slice(table.length + 1));
    const values = [uuidsOf(USER_TABLE), uuidsOf(GROUP_TABLE)];
    const [[users, groups] = [null, null]] = await reader.read<[users: FoundRows, groups: FoundRows]>(
      this.find,
      values,
    );
    const found = new Map<string, User | Group>([
      ...modelsOf(USER_TABLE, this.users, users),
      ...modelsOf(GROUP_TABLE, this.groups, groups),
    ]);
    return keys.map((key) => found.get(key) ?? null);
  }
}

/** SQL for the objects of a table as one JSON value. */
function rowsOf({ table, alias }: Table, { all }: Projection<object>, uuids: string): string {
  const columns = all.columns.map((sql, index) => `${sql} as column_${index}`);
  return `(select json_agg(found) from (select ${columns.join(', ')} from ${table} ${alias}
        where ${alias}.entry_uuid = any (${uuids}::uuid[])) found)`;
}

function modelsOf<Model extends User | Group>(
  { table }: Table,
  projection: Projection<Model>,
  rows: FoundRows,
): [key: string, model: Model][] {
  return (rows ?? []).map((row) => {
    const model = projection.mapRow(Object.values(row), projection.all);
    return [`${table} ${model.entryUuid}`, model];
  });
}
