import { NotFoundError } from '../../common/errors.js';
import type { FieldAudience } from '../../common/field.js';
import { type NodeType, type LookupKey, lookupOf, type ObjectInput } from '../../common/identity.js';
import { isInAudience } from '../visibility/conditions.js';
import { type Reader, type Statement, statement } from '../statements/statement.js';

export interface TableNames {
  readonly table: 'users' | 'groups';
  readonly alias: 'u' | 'g';
  /** The word for an object of the table in error messages. */
  readonly noun: 'user' | 'group';
  readonly nodeType: NodeType;
  /** The viewers for whom an e-mail address identifies a user. Default: all. */
  readonly addressVisibleTo?: FieldAudience | undefined;
}

const WORDS: Readonly<Record<LookupKey, string>> = {
  id: 'There is no % with this id',
  nodeId: 'There is no % with this node id',
  email: 'No % has this e-mail address, or several have it',
};

/** SQL condition for the object with an identity. Several users can have one address, which then identifies none. */
export function lookupCondition(
  { table, addressVisibleTo: audience }: Pick<TableNames, 'table' | 'addressVisibleTo'>,
  by: LookupKey,
  alias: string,
  value: string,
): string {
  if (by === 'id') return `${alias}.id_folded = ${value}`;
  if (by === 'nodeId') return `${alias}.entry_uuid = ${value}::uuid`;
  const isSeen = audience === undefined ? '' : ` and ${isInAudience(audience, 'user', 'same.key')}`;
  const same = `${addressOf('same')} = ${value}${isSeen}`;
  return `${alias}.key = (select min(same.key) from ${table} same where ${same} having count(*) = 1)`;
}

/** SQL for the e-mail address as lookups compare it: the expression of an index. */
export function addressOf(alias: string): string {
  return `lower(${alias}.email collate "C")`;
}

/** The key of an object. Throws NotFoundError. */
export async function getKey(
  names: TableNames,
  input: ObjectInput,
  argument: string,
  reader: Reader,
): Promise<number> {
  const { by, value } = lookupOf(names, input);
  const find = findObject(names, by, `${names.alias}.key`);
  const [[key] = [null]] = await reader.read<[number | null]>(find, [value]);
  if (key === null) throw notFound(names, argument, by);
  return key;
}

export function notFound(
  { noun }: Pick<TableNames, 'noun'>,
  argument: string,
  by: LookupKey = 'id',
): NotFoundError {
  return new NotFoundError(WORDS[by].replace('%', noun), argument);
}

/** Returns one row even if no object is found, with the revision only. The first column is the key. */
export function findObject(names: TableNames, by: LookupKey, columns: string): Statement {
  const { table, alias } = names;
  return statement(
    `select ${columns}, s.revision_uuid from mirror_state s left join ${table} ${alias} on ${lookupCondition(names, by, alias, '$1')}`,
    { returnsRevision: true },
  );
}
