import { setTimeout as sleep } from 'node:timers/promises';
import { LEADER_LOCK, RULES_LOCK } from '../database/visibility/rules-in-mirror.js';
import { Session } from './session.js';

/** Milliseconds between two attempts to get the lock. */
const INTERVAL_MS = 2000;

/** This process does not follow the directory, or no longer does, and must not write to the mirror. */
export class NotLeadingError extends Error {
  constructor() {
    super('This process does not follow the directory');
    this.name = 'NotLeadingError';
  }
}

/** The time during which this process follows the directory. */
export interface Term {
  /** Increases with each leader. Each transaction that writes to the mirror checks that it is still the latest one. */
  readonly number: number;
  /** Holds the lock, and writes the revisions: they end together. */
  readonly session: Session;
  /** Aborted when another process may lead, or this one ends. */
  readonly signal: AbortSignal;
}

interface Candidate {
  /** The number of the rules of visibility of this process. */
  readonly rules: number;
  /** Called when another process leads. */
  readonly onWait: () => void;
}

/**
 * Runs some work in one process at a time (docs/adr/0033), by an advisory lock of the session with which it writes. A process that
 * ends releases the lock with its connection. One that hangs gives no sign of life, and the server ends its session.
 * @throws the error of the connection, or of the work
 */
export async function withLeadership(
  url: string,
  work: (term: Term) => Promise<void>,
  signal: AbortSignal,
  { rules, onWait }: Candidate,
): Promise<void> {
  const session = await Session.open(url);
  const lost = new AbortController();
  session.onEnd(() => {
    lost.abort(new NotLeadingError());
  });
  const either = AbortSignal.any([signal, lost.signal]);
  try {
    await session.query(`select pg_advisory_lock_shared(${RULES_LOCK}, ${rules})`);
    while (!(await tryLock(session))) {
      onWait();
      await sleep(INTERVAL_MS, undefined, { signal: either });
    }
    // It waits for a transaction that the former leader has left open, which the server ends.
    const [state] = await session.query<{ leader: string }[]>(
      'update mirror_state set leader = leader + 1 returning leader',
    );
    await work({ number: Number(state?.leader), session, signal: either });
  } finally {
    await session.close();
  }
}

async function tryLock(session: Session): Promise<boolean> {
  const [row] = await session.query<{ held: boolean }[]>(
    `select pg_try_advisory_lock(${LEADER_LOCK}) as held`,
  );
  return row?.held === true;
}
