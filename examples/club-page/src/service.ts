import { cacheExchange, Client, type CombinedError, fetchExchange } from '@urql/core';
import type { Session } from './session';
import { SERVICE_URL } from './settings';

/** Each session has a client of its own, so that users never share a cache. */
export function createClient({ accessToken }: Session): Client {
  return new Client({
    url: `${SERVICE_URL}/graphql/v1`,
    exchanges: [cacheExchange, fetchExchange],
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${accessToken}` } },
  });
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
