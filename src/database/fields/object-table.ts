import { NotFoundError } from '../../common/errors.js';
import { foldId } from '../../common/fold.js';
import {
  IS_COMPLETE,
  OPEN_REVISION,
  type Reader,
  type Statement,
  statement,
} from '../statements/statement.js';

export interface TableNames {
  readonly table: 'users' | 'groups';
  readonly alias: 'u' | 'g';
  /** The word for an object of the table in error messages. */
  readonly noun: 'user' | 'group';
  /** SQL for the number of memberships of an object. */
  readonly total: string;
}

/** The key of the object with an id. Throws NotFoundError. */
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
export function findById({ table, alias }: TableNames, columns: string): Statement {
  return statement(
    `select ${columns}, s.${OPEN_REVISION} from mirror_state s left join ${table} ${alias} on ${alias}.id_folded = $1
     where ${IS_COMPLETE}`,
    { returnsRevision: true, isShort: true },
  );
}
