import { Kind, parse } from 'graphql';

/**
 * The name of the operation to run; null where the document has no such operation: for a moment after another tab was chosen the
 * editor still gives the name of the last one.
 */
export function operationNameIn(query: string, name: string | null): string | null {
  if (name === null) return null;
  try {
    const isThere = parse(query).definitions.some(
      (definition) => definition.kind === Kind.OPERATION_DEFINITION && definition.name?.value === name,
    );
    return isThere ? name : null;
  } catch {
    return name; // The service says what is wrong with the document.
  }
}
