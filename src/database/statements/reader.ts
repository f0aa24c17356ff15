import diagnosticsChannel from 'node:diagnostics_channel';
import { databaseError } from './database-error.js';
import { NothingReadError } from '../revisions/no-revision.error.js';
import type { NamedQuery, Statement } from './statement.js';

/** Every statement of the reading path is published here, as a SentStatement, when somebody listens. */
export const statementChannel = diagnosticsChannel.channel('directory:statement');

/** And here, the same object, when it has been answered or has failed. */
export const answeredChannel = diagnosticsChannel.channel('directory:statement:answered');

export interface SentStatement extends Pick<Statement, 'name' | 'text'> {
  readonly values: readonly unknown[];
  hasFailed: boolean;
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

/**
 * Runs one named prepared statement.
 * @param send takes it to the database
 * @throws NothingReadError when a statement that tells its revision finds that there is none yet
 */
export async function readThrough<Row extends unknown[]>(
  send: (query: NamedQuery) => Promise<Row[]>,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { name, text } = statement;
  const sent = statementChannel.hasSubscribers ? publish({ name, text, values, hasFailed: false }) : null;
  try {
    const rows = await send({ name, text, values: [...values], rowMode: 'array' });
    const [row] = rows;
    if (statement.tellsRevision && row?.at(-1) === null) throw new NothingReadError();
    return rows;
  } catch (error) {
    if (sent !== null) sent.hasFailed = true;
    throw databaseError(error);
  } finally {
    if (sent !== null) answeredChannel.publish(sent);
  }
}

function publish(sent: SentStatement): SentStatement {
  statementChannel.publish(sent);
  return sent;
}
