import { type ASTNode, type DocumentNode, Kind, visit } from 'graphql';

/** The document with this type for all variables. */
export function withVariablesOf(typeName: string, document: DocumentNode): DocumentNode {
  const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: typeName } } as const;
  return visit(document, {
    VariableDefinition: ({ kind, variable, loc }) => ({ kind, variable, type, loc }),
  });
}

/** The names of variables inside of objects and lists. */
export function variablesInside(document: DocumentNode): string[] {
  const found = new Set<string>();
  const find = (node: ASTNode) => {
    visit(node, { Variable: ({ name }) => void found.add(name.value) });
  };
  visit(document, { ObjectValue: find, ListValue: find });
  return [...found];
}
