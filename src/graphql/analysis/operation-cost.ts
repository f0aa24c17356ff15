import { Extensions } from '@nestjs/graphql';
import {
  getArgumentValues,
  GraphQLError,
  type DocumentNode,
  Kind,
  type OperationDefinitionNode,
  type ArgumentNode,
  type ASTVisitor,
  type FieldNode,
  type GraphQLField,
  type ValidationContext,
} from 'graphql';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { LimitsConfig } from '../../config/settings/limits.js';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

/** The largest page size. It is part of the API contract. */
export const LARGEST_PAGE = 100;

/** A field with `first` and `last` is a connection. */
export function isConnection(field: GraphQLField<unknown, unknown>): boolean {
  return field.args.some(({ name }) => name === 'first') && field.args.some(({ name }) => name === 'last');
}

/**
 * A validation rule: a connection takes exactly one of `first` and `last`, from 0 to 100. Values of variables
 * are not known here and are checked by computeCost.
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

const NODES_PER_POINT = 100;

export interface OperationCost {
  /** Maximum number of nodes that its connections and lists of nodes may return. The sizes of nested connections multiply. */
  readonly nodeCount: number;
  readonly points: number;
}

/** Declares that a field returns one object for each element of a list argument: at most LARGEST_PAGE. */
export function SizedBy(argument: string): MethodDecorator {
  return Extensions({ sizedBy: argument });
}

/** The cost of an operation. Throws ServiceError QUERY_TOO_COMPLEX or BAD_USER_INPUT. */
export function computeCost(operation: Operation, variables: Variables, limits: LimitsConfig): OperationCost {
  refuseAbove(limits.aliases, operation.aliases, 'aliases');
  refuseAbove(limits.directives, operation.directives, 'directives');
  refuseAbove(limits.rootFields, [...selectedAmong(operation.roots, variables)].length, 'root fields');
  const nodeCount = countNodes(operation.roots, variables, limits, 1, 1);
  refuseAbove(limits.nodes, nodeCount, 'requested nodes');
  return { nodeCount, points: Math.max(1, Math.ceil(nodeCount / NODES_PER_POINT)) };
}

function countNodes(
  fields: Map<string, SelectedField>,
  variables: Variables,
  limits: LimitsConfig,
  multiplier: number,
  depth: number,
): number {
  let nodes = 0;
  for (const selected of selectedAmong(fields, variables)) {
    refuseAbove(limits.depth, depth, 'levels');
    const given = coerceArguments(selected, variables);
    const size = isConnection(selected.field) ? pageSize(selected, given) : listSize(selected, given);
    const inside = size === null ? multiplier : multiplier * size;
    if (size !== null) nodes += inside;
    nodes += countNodes(selected.children, variables, limits, inside, depth + 1);
  }
  return nodes;
}

/** Coerces arguments. A nullable variable with a default may be null here, which is rejected (§5.8.5). */
function coerceArguments(
  { field, fieldNodes }: SelectedField,
  variables: Variables,
): Record<string, unknown> {
  const [node] = fieldNodes;
  if (node === undefined || field.args.length === 0) return {};
  try {
    return getArgumentValues(field, node, variables);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const [at] = error.nodes ?? [];
    const argument = node.arguments?.find(({ value }) => value === at)?.name.value ?? field.name;
    throw new BadUserInputError(error.message, argument);
  }
}

/** Checks page sizes in variables. ConnectionArgumentsRule has already checked those in the document. */
function pageSize({ parentType, field }: SelectedField, values: Record<string, unknown>): number {
  const { first, last } = values as { first?: number | null; last?: number | null };
  const given = [first, last].filter((size) => size !== undefined && size !== null);
  const [size] = given;
  if (given.length !== 1 || size === undefined) {
    throw new BadUserInputError(
      `${parentType.name}.${field.name} takes exactly one of first and last`,
      'first',
    );
  }
  if (size < 0 || size > LARGEST_PAGE) {
    const argument = size === first ? 'first' : 'last';
    const message = `${argument} of ${parentType.name}.${field.name} must be from 0 to ${LARGEST_PAGE}`;
    throw new BadUserInputError(message, argument);
  }
  return size;
}

/** The size of a list: the length of an argument, or a maximum. Null: the list does not count. */
function listSize({ parentType, field }: SelectedField, values: Record<string, unknown>): number | null {
  const argument = field.extensions['sizedBy'] as string | undefined;
  if (argument === undefined) return (field.extensions['mostNodes'] as number | undefined) ?? null;
  const { length } = values[argument] as readonly unknown[];
  if (length <= LARGEST_PAGE) return length;
  const message = `${argument} of ${parentType.name}.${field.name} must have at most ${LARGEST_PAGE} elements`;
  throw new BadUserInputError(message, argument);
}

function refuseAbove(limit: number, count: number, what: string): void {
  if (count <= limit) return;
  throw new ServiceError(
    'QUERY_TOO_COMPLEX',
    `This operation has too many ${what}: at most ${limit} are answered`,
  );
}

/** The fields `rateLimit(dryRun: true)`; null if the operation is executed normally. */
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
