import { cacheExchange, Client, type CombinedError, fetchExchange } from '@urql/core';
import type { Session } from './session';
import { SERVICE_URL } from './settings';

/** One for each session: what one person has read is not shown to the next. */
export function createClient({ accessToken }: Session): Client {
  return new Client({
    url: `${SERVICE_URL}/graphql/v1`,
    exchanges: [cacheExchange, fetchExchange],
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${accessToken}` } },
  });
}

/** What is to be done about an error, which its code tells and never its message. */
export type Trouble = 'signed-out' | 'refused' | 'missing' | 'later';

export function troubleOf(error: CombinedError): Trouble {
  const code = error.graphQLErrors[0]?.extensions['code'];
  if (code === 'UNAUTHENTICATED') return 'signed-out';
  if (code === 'INSUFFICIENT_SCOPE' || code === 'NO_USER_CONTEXT') return 'refused';
  if (code === 'NOT_FOUND') return 'missing';
  return 'later';
}
