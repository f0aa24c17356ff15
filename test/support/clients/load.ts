import { json } from 'node:stream/consumers';
import { spawnBound } from '../spawn-bound.mjs';

/** The requests, and the duration of the load. */
export interface Load {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly seconds: number;
  /** The process of the server, if it is on this machine. */
  readonly server?: number;
}

/** The outcome of a request. */
export interface LoadOutcome {
  /** Zero if there was no response. */
  readonly status: number;
  /** The code of the error, or another text of the response; null if there was no error. */
  readonly code: string | null;
  readonly retryAfter: string | null;
  /** Start of the request, in milliseconds since 1970. */
  readonly at: number;
  readonly milliseconds: number;
  /** Of these, milliseconds in which client or server may have waited for a processor. */
  readonly waited: number;
}

/**
 * Generates load in a separate process.
 * @param manner a fixed rate of requests per second, independent of responses; or a number of clients that send one request after
 * the other
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
