import { Extensions } from '@nestjs/graphql';
import { getArgumentValues, GraphQLError } from 'graphql';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { LimitsConfig } from '../../config/settings/limits.js';
import { isConnection, LARGEST_PAGE } from './connection-arguments.js';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

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
    `This operation has too many ${what}: at most ${limit} are allowed`,
  );
}
