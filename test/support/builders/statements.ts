import diagnosticsChannel from 'node:diagnostics_channel';
import { type SentStatement, statementChannel } from '../../../src/database/statements/statement.js';

/**
 * Returns the statements that are sent during an action, in order, without those that an operation does not depend on: of
 * authentication, and of whether the rules of visibility are in effect, which a process reads when it missed a notification.
 */
export async function statementsOf(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = [];
  const listen = (message: unknown) => {
    const statement = message as SentStatement;
    if (!/\bservice_account/.test(statement.text)) sent.push(statement);
  };
  diagnosticsChannel.subscribe(statementChannel.start.name, listen);
  try {
    await work();
  } finally {
    diagnosticsChannel.unsubscribe(statementChannel.start.name, listen);
  }
  return sent;
}
