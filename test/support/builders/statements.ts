import diagnosticsChannel from 'node:diagnostics_channel';
import { type SentStatement, statementChannel } from '../../../src/database/statements/statement.js';

/**
 * The statements that are sent while something is done, in their order, without those that tell who is asking:
 * what an operation costs does not depend on how its sender signs in.
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
