import { cacheExchange, Client, type CombinedError, fetchExchange } from '@urql/core';
import type { Session } from './session';
import { SERVICE_URL } from './settings';

/** Each session has a client of its own, so that users never share a cache. */
export function createClient({ accessToken }: Session): Client {
  return new Client({
    url: `${SERVICE_URL}/graphql/v1`,
    exchanges: [cacheExchange, fetchExchange],
    preferGetMethod: false,
    fetch: fetchWithRetries,
    fetchOptions: { headers: { authorization: `Bearer ${accessToken}` } },
  });
}

/** Attempts of a request. A person waits for them. */
const ATTEMPTS = 3;
/** The longest pause between two, in seconds. After a longer one the user decides. */
const LONGEST_PAUSE = 10;
/** The longest time of an attempt. */
const DEADLINE_MS = 30_000;

/** Repeats what the service or the network cannot do now. Every operation may be repeated: none changes anything. */
async function fetchWithRetries(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    let pause = attempt;
    try {
      const signals = [init.signal, AbortSignal.timeout(DEADLINE_MS)].filter((each) => each != null);
      const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
      // The connection can also break while the body arrives.
      const whole = new Response(await response.arrayBuffer(), response);
      if (response.status !== 429 && response.status !== 503) return whole;
      pause = Number(response.headers.get('retry-after')) || attempt;
      if (attempt === ATTEMPTS || pause > LONGEST_PAUSE) return whole;
    } catch (error) {
      if (attempt === ATTEMPTS || init.signal?.aborted === true) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * (pause + Math.random())));
  }
}

/** Kinds of errors that the page handles. They depend on the code of an error, never on its message. */
export type Problem = 'signed-out' | 'forbidden' | 'private' | 'missing' | 'unavailable';

export function problemOf(error: CombinedError): Problem {
  const code = error.graphQLErrors[0]?.extensions['code'];
  if (code === 'UNAUTHENTICATED') return 'signed-out';
  if (code === 'INSUFFICIENT_SCOPE' || code === 'NO_USER_CONTEXT') return 'forbidden';
  if (code === 'FORBIDDEN') return 'private';
  if (code === 'NOT_FOUND') return 'missing';
  return 'unavailable';
}
