import { type DocumentNode, Kind, type OperationDefinitionNode } from 'graphql';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

/** Returns the fields `rateLimit` if one has `dryRun: true`: only they are executed then. Null: the whole operation is. */
export function findDryRunFields({ roots }: Operation, variables: Variables): SelectedField[] | null {
  const fields = [...selectedAmong(roots, variables)].filter(({ field }) => field.name === 'rateLimit');
  const asked = fields.some(({ fieldNodes }) =>
    fieldNodes.some((node) =>
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

/** Returns the document with only these fields at the root of an operation. */
export function withOnly(
  fields: readonly SelectedField[],
  definition: OperationDefinitionNode,
  document: DocumentNode,
): DocumentNode {
  const selections = fields.flatMap(({ fieldNodes }) => fieldNodes);
  const reduced = { ...definition, selectionSet: { kind: Kind.SELECTION_SET, selections } as const };
  return {
    ...document,
    definitions: document.definitions.map((node) => (node === definition ? reduced : node)),
  };
}
