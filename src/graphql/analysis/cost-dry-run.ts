import { type DocumentNode, Kind, type OperationDefinitionNode } from 'graphql';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

/**
 * Returns the fields `rateLimit(dryRun: true)` of an operation; null if there are none and the operation is
 * executed normally.
 */
export function findDryRunFields({ roots }: Operation, variables: Variables): SelectedField[] | null {
  const fields = [...selectedAmong(roots, variables)].filter(({ field }) => field.name === 'rateLimit');
  const asked = fields.some(({ nodes }) =>
    nodes.some((node) =>
      node.arguments?.some(({ name, value }) => {
        if (name.value !== 'dryRun') return false;
        return value.kind === Kind.VARIABLE
          ? variables[value.name.value] === true
          : value.kind === Kind.BOOLEAN && value.value;
      }),
    ),
  );
  return asked ? fields : null;
}

/** Returns the document with only these root fields in the operation. */
export function withOnly(
  fields: readonly SelectedField[],
  definition: OperationDefinitionNode,
  document: DocumentNode,
): DocumentNode {
  const selections = fields.flatMap(({ nodes }) => nodes);
  const reduced = { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } as const };
  return {
    ...document,
    definitions: document.definitions.map((node) => (node === definition ? reduced : node)),
  };
}
