import diagnosticsChannel from 'node:diagnostics_channel';
import { type SentStatement, statementChannel } from '../../../src/database/statements/statement.js';

/**
 * Returns the statements that are sent during an action, in order, without those of authentication: the statements of an
 * operation do not depend on it.
 */
export async function statementsOf(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const listen = (message: unknown) => {
    const statement = message as SentStatement;
    if (!/\bservice_account/.test(statement.text)) sent.push(statement);
  };
  diagnosticsChannel.subscribe(statementChannel.name, listen);
  try {
    await work();
  } finally {
    diagnosticsChannel.unsubscribe(statementChannel.name, listen);
  }
  return sent;
}
