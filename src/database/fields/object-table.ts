import { NotFoundError } from '../../common/errors.js';
import { foldId } from '../../common/fold.js';
import { type Reader, REVISION, type Statement, statement } from '../statements/statement.js';
import type { Projection } from './projection.js';

/** The table of users or of groups. */
export interface TableNames {
  readonly table: 'users' | 'groups';
  /** The alias that projections use. */
  readonly alias: 'u' | 'g';
  /** The word for an object of the table in error messages. */
  readonly noun: 'user' | 'group';
  /** SQL for the number of memberships of an object. */
  readonly total: string;
}

/** Reads single users or groups. */
export class ObjectTable<Model extends { key: number }> {
  private readonly byId: Statement;
  private readonly byKeys: Statement;

  constructor(
    private readonly names: TableNames,
    private readonly projection: Projection<Model>,
  ) {
    const { table, alias } = names;
    const columns = projection.all.columns.join(', ');
    this.byId = findById(names, columns);
    this.byKeys = statement(
      `select ${columns}, ${REVISION} from ${table} ${alias} where ${alias}.key = any ($1::integer[])`,
      { tellsRevision: true },
    );
  }

  async find(id: string, reader: Reader): Promise<Model | null> {
    const [row] = await reader.read(this.byId, [foldId(id)]);
    return row === undefined || row[0] === null ? null : this.modelOf(row);
  }

  /**
   * @param argument name of the GraphQL argument that identifies the object, for the error
   * @throws NotFoundError
   */
  async get({ id }: { readonly id: string }, argument: string, reader: Reader): Promise<Model> {
    const model = await this.find(id, reader);
    if (model === null) throw notFound(this.names, argument);
    return model;
  }

  /** Returns the objects with these keys, in the order of the keys; null for a key without an object. */
  async listByKeys(keys: readonly number[], reader: Reader): Promise<(Model | null)[]> {
    const rows = await reader.read(this.byKeys, [keys]);
    const models = new Map(rows.map((row) => this.modelOf(row)).map((model) => [model.key, model]));
    return keys.map((key) => models.get(key) ?? null);
  }

  private modelOf(row: readonly unknown[]): Model {
    return this.projection.mapRow(row, this.projection.all);
  }
}

/**
 * Returns the key of the object with an id.
 * @throws NotFoundError
 */
export async function getKey(
  names: TableNames,
  { id }: { readonly id: string },
  argument: string,
  reader: Reader,
): Promise<number> {
  const [[key] = [null]] = await reader.read<[number | null]>(findById(names, `${names.alias}.key`), [
    foldId(id),
  ]);
  if (key === null) throw notFound(names, argument);
  return key;
}

export function notFound({ noun }: Pick<TableNames, 'noun'>, argument: string): NotFoundError {
  return new NotFoundError(`There is no ${noun} with this id`, argument);
}

/** Returns one row even if no object has the id. In that row only the revision is not null. */
function findById({ table, alias }: TableNames, columns: string): Statement {
  return statement(
    `select ${columns}, s.revision_uuid from mirror_state s left join ${table} ${alias} on ${alias}.id_folded = $1`,
    { tellsRevision: true, isShort: true },
  );
}
