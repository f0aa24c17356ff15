import { type Question, send } from './send.js';
import { session } from './session.js';
import { settings } from './settings.js';
import { findPictures, type PictureLink } from './pictures.js';
import { parseRateLimit, type Price } from './price.js';
import { Store } from './store.js';

/** What is shown beside the last answer. */
export interface Asked {
  readonly status: number;
  readonly price: Price;
  readonly pictures: readonly PictureLink[];
}

export const asked = new Store<Asked | null>(null);

/** Sends a question with the token, and remembers what came beside the answer. */
export async function ask(question: Question): Promise<Record<string, unknown>> {
  const { answer, response } = await send(question, session.get()?.authorization ?? null);
  if (question.operationName !== 'IntrospectionQuery') {
    asked.set({
      status: response.status,
      price: parseRateLimit(response.headers.get('RateLimit') ?? ''),
      pictures: findPictures(answer, settings.baseUrl),
    });
  }
  return answer;
}
