import diagnosticsChannel from 'node:diagnostics_channel';
import type { Statement } from './statement.js';

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
