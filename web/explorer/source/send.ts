import { operationNameIn } from './operation-name.js';
import { settings } from './settings.js';

/** A request of GraphQL over HTTP. */
export interface Question {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: unknown;
}

/** @param authorization the header; null: none */
export async function send(
  { query, operationName, variables }: Question,
  authorization: string | null,
): Promise<{ answer: Record<string, unknown>; response: Response }> {
  const response = await fetch(settings.endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(authorization === null ? {} : { authorization }),
    },
    body: JSON.stringify({
      query,
      operationName: operationNameIn(query, operationName ?? null) ?? undefined,
      variables: variables ?? undefined,
    }),
    credentials: 'omit',
  });
  return { answer: (await response.json()) as Record<string, unknown>, response };
}
