import { operationNameIn } from './operation-name.js';
import { settings } from './settings.js';

/** A GraphQL request. */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: unknown;
}

/** @param authorization value of the header, or null for none */
export async function send(
  { query, operationName, variables }: GraphqlRequest,
  authorization: string | null,
): Promise<{ body: Record<string, unknown>; response: Response }> {
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
  return { body: (await response.json()) as Record<string, unknown>, response };
}
