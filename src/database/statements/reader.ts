import diagnosticsChannel from 'node:diagnostics_channel';
import type { Statement } from './statement.js';

/** Publishes every statement of the read path, as a SentStatement, if the channel has subscribers. */
export const statementChannel = diagnosticsChannel.channel('directory:statement');

/** Publishes the same object when the statement has been answered or has failed. */
export const answeredChannel = diagnosticsChannel.channel('directory:statement:answered');

export interface SentStatement extends Pick<Statement, 'name' | 'text'> {
  readonly values: readonly unknown[];
  hasFailed: boolean;
}

/** Reads from the mirror, either its committed state or the state inside of one preview. */
export interface Reader {
  /**
   * Runs one named prepared statement. Rows are arrays in the order of the columns: this is cheaper than
   * objects, and the statement is defined next to the code that reads its rows (docs/adr/0004).
   * @throws ServiceUnavailableError when the database is unavailable; ServiceError TIMEOUT when it takes too
   * long
   */
  read<Row extends unknown[]>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}
