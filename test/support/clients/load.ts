import { json } from 'node:stream/consumers';
import { spawnBound } from '../spawn-bound.mjs';

/** What is asked, and for how long. */
export interface Load {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly seconds: number;
  /** The process that is asked, if it is on this machine. */
  readonly server?: number;
}

/** What came of a request. */
export interface LoadOutcome {
  /** Zero: there was no answer. */
  readonly status: number;
  /** Of the error, or what else was said; null: there was none. */
  readonly code: string | null;
  readonly retryAfter: string | null;
  /** When it was sent, in milliseconds since 1970. */
  readonly at: number;
  readonly milliseconds: number;
  /** Those of them for which it may have waited for a processor, here or at the server. */
  readonly waited: number;
}

/**
 * Makes load from a process of its own.
 * @param manner so many requests a second, whether or not those before are answered; or one after the other by so many
 *   clients at a time
 */
export async function load(
  what: Load,
  manner: { rate: number } | { clients: number },
): Promise<LoadOutcome[]> {
  const child = spawnBound(
    process.execPath,
    ['test/support/clients/make-load.mjs', JSON.stringify({ ...what, ...manner })],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return (await json(child.stdout)) as LoadOutcome[];
}
