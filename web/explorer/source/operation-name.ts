import { Kind, parse } from 'graphql';

/**
 * Returns the name of the operation to run, or null if the document has no operation of that name: after a change of the tab,
 * the editor briefly passes the name of the previous tab's operation.
 */
export function operationNameIn(query: string, name: string | null): string | null {
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
