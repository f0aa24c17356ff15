import {
  type ArgumentNode,
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  Kind,
  type ValidationContext,
} from 'graphql';

/** The largest page size. It is part of the API contract. */
export const LARGEST_PAGE = 100;

/** A field with `first` and `last` is a connection. */
export function isConnection(field: GraphQLField<unknown, unknown>): boolean {
  return field.args.some(({ name }) => name === 'first') && field.args.some(({ name }) => name === 'last');
}

/**
 * A validation rule: a connection takes exactly one of `first` and `last`, from 0 to 100. Values of variables
 * are not known here and are checked by CostCount.
 */
export function ConnectionArgumentsRule(context: ValidationContext): ASTVisitor {
  return {
    Field(node: FieldNode) {
      const field = context.getFieldDef();
      if (!field || !isConnection(field)) return;
      const given = (node.arguments ?? []).filter(isSizeGiven);
      const certain = given.filter(({ value }) => value.kind !== Kind.VARIABLE);
      if (given.length === 0 || certain.length > 1) {
        context.reportError(
          new GraphQLError(`${coordinateOf(context, field)} takes exactly one of first and last`, {
            nodes: node,
          }),
        );
      }
      for (const argument of certain) reportSize(context, field, argument);
    },
  };
}

function isSizeGiven({ name, value }: ArgumentNode): boolean {
  return (name.value === 'first' || name.value === 'last') && value.kind !== Kind.NULL;
}

function reportSize(
  context: ValidationContext,
  field: GraphQLField<unknown, unknown>,
  argument: ArgumentNode,
): void {
  // GraphQL's own rules reject values that are not integers.
  if (argument.value.kind !== Kind.INT) return;
  const size = Number(argument.value.value);
  if (size >= 0 && size <= LARGEST_PAGE) return;
  const message = `${argument.name.value} of ${coordinateOf(context, field)} must be from 0 to ${LARGEST_PAGE}`;
  context.reportError(new GraphQLError(message, { nodes: argument }));
}

function coordinateOf(context: ValidationContext, field: GraphQLField<unknown, unknown>): string {
  return `${context.getParentType()?.name ?? ''}.${field.name}`;
}
