import { Extensions } from '@nestjs/graphql';
import { getArgumentValues, getNullableType, GraphQLError, isListType } from 'graphql';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { LimitsConfig } from '../../config/settings/limits.js';
import { isConnection, LARGEST_PAGE } from './connection-arguments.js';
import { type Operation, type SelectedField, selectedAmong, type Variables } from './operation.js';

const NODES_PER_POINT = 100;
/** Maximum number of values of a response for each node that an operation may request. Fields of pages have about 20. */
const VALUES_PER_NODE = 50;
/** Elements of a list whose size an operation does not show, as far as values are counted. Usual ones have fewer. */
const LIST_SIZE = 10;

/** Characters of a text, or of a list of texts, in an argument that count as one value for each parent of its field. */
export const CHARACTERS_OF_VALUE = 100;
/** The characters of an element of a list beside its text. */
const ELEMENT = 4;

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
  const counted = { nodes: 0, values: 0 };
  const once = { nodes: 1, values: 1, depth: 1, isPage: false };
  countSelected(operation.roots, { variables, limits, counted }, once);
  const { nodes: nodeCount, values } = counted;
  refuseAbove(limits.nodes, nodeCount, 'requested nodes');
  refuseAbove(limits.nodes * VALUES_PER_NODE, values, 'values in its response');
  return { nodeCount, points: Math.max(1, Math.ceil(nodeCount / NODES_PER_POINT)) };
}

interface Counting {
  readonly variables: Variables;
  readonly limits: LimitsConfig;
  readonly counted: { nodes: number; values: number };
}

/** How often the fields of a level occur in the response: as nodes of connections, and with other lists. */
interface Occurrences {
  readonly nodes: number;
  readonly values: number;
  readonly depth: number;
  /** Whether they are those of a page, whose lists have the size of the page. */
  readonly isPage: boolean;
}

/** Adds the nodes and values of fields to the counts. Aliases multiply values, but no nodes. */
function countSelected(fields: Map<string, SelectedField>, counting: Counting, at: Occurrences): void {
  const { variables, limits, counted } = counting;
  for (const selected of selectedAmong(fields, variables)) {
    refuseAbove(limits.depth, at.depth, 'levels');
    const given = coerceArguments(selected, variables);
    const isPage = isConnection(selected.field);
    const size = isPage ? pageSize(selected, given) : listSize(selected, given);
    const isOpenList = size === null && !at.isPage && isListType(getNullableType(selected.field.type));
    const nodes = at.nodes * (size ?? 1);
    // An empty page is a value, too, and so are its totals.
    const values = at.values * (isOpenList ? LIST_SIZE : Math.max(1, size ?? 1));
    if (size !== null) counted.nodes += nodes;
    // A page below each of several parents is planned with its arguments for each of them.
    counted.values += values + (at.values > 1 ? at.values * weightOf(given) : 0);
    countSelected(selected.children, counting, { nodes, values, depth: at.depth + 1, isPage });
  }
}

/** What the arguments of a nested field count, as values. Only long texts and lists do: see shapeOf in operation-validator.ts. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value))
    return Math.floor(charactersIn(value) / CHARACTERS_OF_VALUE);
  return typeof value === 'object' && value !== null ? sumOf(Object.values(value), weightOf) : 0;
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return sumOf(Object.values(value), (each) => ELEMENT + charactersIn(each));
}

function sumOf(values: readonly unknown[], numberOf: (value: unknown) => number): number {
  return values.reduce<number>((sum, each) => sum + numberOf(each), 0);
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
