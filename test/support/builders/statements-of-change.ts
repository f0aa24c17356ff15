import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Statements that do not depend on changes: the sign of life of the leader, and those of connections that are opened. */
const OTHERS = /^select 1$|^\s*set datestyle|"takesWrites"|pg_blocking_pids|^listen/i;
const LONGEST_WAIT = 20_000;

/**
 * Returns the statements of the process from a change of the directory to the end of the transaction with its revision, without
 * those that do not depend on changes.
 */
export async function statementsOfChange(change: () => Promise<void> | void): Promise<string[]> {
  const query = jest.spyOn(pg.Client.prototype, 'query');
  const sent = () => query.mock.calls.map(([first]) => textOf(first)).filter((text) => !OTHERS.test(text));
  try {
    await change();
    const begun = performance.now();
    while (!endsWithRevision(sent())) {
      if (performance.now() - begun > LONGEST_WAIT) throw new Error('There was no revision');
      await sleep(5);
    }
    return sent();
  } finally {
    query.mockRestore();
  }
}

function textOf(query: unknown): string {
  return typeof query === 'string' ? query : String((query as { text?: unknown }).text);
}

function endsWithRevision(texts: readonly string[]): boolean {
  const revision = texts.findIndex((text) => text.includes('insert into revisions'));
  return revision >= 0 && texts.slice(revision).includes('commit');
}
