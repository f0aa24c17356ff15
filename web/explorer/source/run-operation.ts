import { type GraphqlRequest, send } from './send.js';
import { session } from './session.js';
import { settings } from './settings.js';
import { findPictures, type PictureLink } from './pictures.js';
import { parseRateLimit, type RateLimit } from './rate-limit.js';
import { Store } from './store.js';

/** What is shown below the editors about the last response. */
export interface LastResponse {
  readonly status: number;
  readonly rateLimit: RateLimit;
  readonly pictures: readonly PictureLink[];
}

export const lastResponse = new Store<LastResponse | null>(null);

/** Sends a request with the token, and stores status, limits and pictures of its response. */
export async function runOperation(request: GraphqlRequest): Promise<Record<string, unknown>> {
  const { body, response } = await send(request, session.get()?.authorization ?? null);
  if (request.operationName !== 'IntrospectionQuery') {
    lastResponse.set({
      status: response.status,
      rateLimit: parseRateLimit(response.headers.get('RateLimit') ?? ''),
      pictures: findPictures(body, settings.baseUrl),
    });
  }
  return body;
}
