import { Kind, parse } from 'graphql';
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
  const response = await fetch(`${settings.basePath}/graphql/v1`, {
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

/**
 * Returns the name of the operation to run, or null if the document has no operation of that name: after a change of the tab,
 * the editor briefly passes the name of the previous tab's operation.
 */
function operationNameIn(query: string, name: string | null): string | null {
  if (name === null) return null;
  try {
    const isThere = parse(query).definitions.some(
      (definition) => definition.kind === Kind.OPERATION_DEFINITION && definition.name?.value === name,
    );
    return isThere ? name : null;
  } catch {
    return name; // The service reports the syntax error.
  }
}
