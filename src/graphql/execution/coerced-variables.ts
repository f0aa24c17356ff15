import { type ASTNode, type DocumentNode, type GraphQLNamedType, GraphQLSchema, Kind, visit } from 'graphql';

/** Schemas, each with one more type. */
export class SchemasWithType {
  private readonly known = new WeakMap<GraphQLSchema, GraphQLSchema>();

  constructor(private readonly type: GraphQLNamedType) {}

  find(schema: GraphQLSchema): GraphQLSchema {
    let extended = this.known.get(schema);
    if (extended === undefined) {
      const { types, ...config } = schema.toConfig();
      extended = new GraphQLSchema({ ...config, types: [...types, this.type] });
      this.known.set(schema, extended);
    }
    return extended;
  }
}

/** The document with this type for all variables. */
export function withVariablesOf({ name }: GraphQLNamedType, document: DocumentNode): DocumentNode {
  const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: name } } as const;
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
