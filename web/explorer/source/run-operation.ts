import { type GraphqlRequest, send } from './send.js';
import { session, signOuts } from './session.js';
import { settings } from './settings.js';
import { findMissingScopes } from './missing-scopes.js';
import { findPictures, type PictureLink } from './pictures.js';
import { parseRateLimit, type RateLimit } from './rate-limit.js';
import { Store } from './store.js';

/** What is shown below the editors about the last response. */
export interface LastResponse {
  readonly status: number;
  readonly rateLimit: RateLimit;
  /** The scopes that the operation needs beside those of the token. Null: the service has not asked for any token or scope. */
  readonly missingScopes: readonly string[] | null;
  readonly pictures: readonly PictureLink[];
}

export const lastResponse = new Store<LastResponse | null>(null);
signOuts.subscribe(() => {
  lastResponse.set(null);
});

/** Sends a request with the token, and stores status, limits and pictures of its response. */
export async function runOperation(request: GraphqlRequest): Promise<Record<string, unknown>> {
  const token = session.get();
  const signOutsBefore = signOuts.get();
  const { body, response } = await send(request, token?.authorization ?? null);
  // A response that arrives after its user has signed out is not shown.
  if (request.operationName !== 'IntrospectionQuery' && signOuts.get() === signOutsBefore) {
    lastResponse.set({
      status: response.status,
      rateLimit: parseRateLimit(response.headers.get('RateLimit') ?? ''),
      missingScopes: findMissingScopes(body, token?.scopes ?? []),
      pictures: findPictures(body, settings.baseUrl),
    });
  }
  return body;
}
