import diagnosticsChannel from 'node:diagnostics_channel';
import type { ClientBase, Pool } from 'pg';
import { databaseError } from './database-error.js';
import { PATIENTLY, queryPatiently } from './patience.js';
import type { Statement } from './statement.js';

/** Every statement of the reading path is published here, as a SentStatement, when somebody listens. */
export const statementChannel = diagnosticsChannel.channel('directory:statement');

export interface SentStatement extends Pick<Statement, 'name' | 'text'> {
  readonly values: readonly unknown[];
}

/** Where answers are read from: the mirror as everybody sees it, or as it is inside of one preview. */
export interface Reader {
  /**
   * Runs one named prepared statement. Rows are arrays in the order of the columns: cheaper than objects, and
   * the statement stands beside the code that takes them apart (docs/adr/0004).
   * @throws ServiceUnavailableError when the database is away; ServiceError TIMEOUT when it takes too long
   */
  read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** Reads through a connection, or through whichever of a pool is free. */
export async function readThrough<Row extends unknown[]>(
  connection: Pool | ClientBase,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  if (statementChannel.hasSubscribers)
    statementChannel.publish({ name, text, values } satisfies SentStatement);
  const query = { name, text, values: [...values], rowMode: 'array' as const };
  try {
    if ('totalCount' in connection) return await queryPatiently<Row>(connection, query);
    const { rows } = await connection.query<Row>({ ...query, ...PATIENTLY });
    return rows;
  } catch (error) {
    throw databaseError(error);
  }
}
