import { setMaxListeners } from 'node:events';

/**
 * Runs a function with a signal that is aborted together with any of several others. Unlike `AbortSignal.any` of Node.js 20, which keeps a
 * part of each call in signals that live long, it leaves nothing in them.
 */
export async function withEither<Result>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  // One for each call that is under way: with more than ten receivers of webhooks, Node.js would warn of a leak.
  setMaxListeners(0, ...signals);
  const either = new AbortController();
  const abort = ({ target }: Event) => {
    either.abort((target as AbortSignal).reason);
  };
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    signal.addEventListener('abort', abort);
  }
  try {
    return await work(either.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  }
}
