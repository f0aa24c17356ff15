import { Extensions } from '@nestjs/graphql';
import {
  type FieldNode,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  isCompositeType,
  isListType,
  Kind,
} from 'graphql';
import { BadUserInputError, bounded, ServiceError } from '../../common/errors.js';
import type { LimitsConfig } from '../../config/settings/service.js';

export interface SelectedField {
  readonly parentType: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
  readonly path: readonly string[];
  /** All nodes of the syntax tree that select the field there. */
  readonly nodes: readonly FieldNode[];
}

/** The largest page size. It is part of the API contract. */
const LARGEST_PAGE = 100;
const NODES_PER_POINT = 100;
/** Maximum number of values of a response for each node that an operation may request. Fields of pages have about 20. */
const VALUES_PER_NODE = 25;
/** Sizes multiply, so that a count exceeds what numbers of the API can express. */
const LARGEST_COUNT = 2 ** 31 - 1;
/** Elements of a list in an argument. Most lists have lower limits. */
const LONGEST_LIST = 1000;
/** Elements of a list whose size an operation does not show, as far as values are counted. Usual ones have fewer. */
const LIST_SIZE = 10;
/** Characters of the arguments of a field that count as one value for each of its parents. */
const CHARACTERS_OF_VALUE = 100;
export interface OperationCost {
  /** Maximum number of nodes that its connections and lists of nodes may return. The sizes of nested connections multiply. */
  readonly nodeCount: number;
  readonly nodeLimit: number;
  /** The path of the connection or list with most of the nodes; null if there is none. */
  readonly largestConnection: string | null;
  readonly points: number;
  /** Maximum number of values of the response. Infinity if it has lists of any size. */
  readonly values: number;
  readonly rejection: string | null;
}

/** Declares that a field returns one object for each element of a list argument: at most LARGEST_PAGE. */
export function SizedBy(argument: string): MethodDecorator {
  return Extensions({ sizedBy: argument });
}

/** Declares that a list is short in every directory, so that it counts values and no nodes. */
export function ShortList(): MethodDecorator & PropertyDecorator {
  return Extensions({ isShort: true });
}

/** Why an operation could request any number of objects by a field; null if it cannot. */
export function unboundedSize(field: GraphQLField<unknown, unknown>, isInPage: boolean): string | null {
  const { args, type, extensions } = field;
  if (args.some(({ name }) => name === 'first' || name === 'last') && !isConnection(field))
    return 'has only one of first and last';
  const isList =
    isListType(getNullableType(type)) && (args.length > 0 || isCompositeType(getNamedType(type)));
  const isBounded = ['sizedBy', 'mostNodes', 'isShort'].some((bound) => extensions[bound] !== undefined);
  return isList && !isInPage && !isBounded
    ? 'is a list without a bound: page it by first and last, or declare @SizedBy or @ShortList'
    : null;
}

/** How often the fields of a level occur in the response: as nodes of connections, and with other lists. */
export interface Occurrences {
  readonly nodes: number;
  readonly values: number;
  /** Whether they are those of a page, whose lists have the size of the page. */
  readonly isPage: boolean;
}

/** Counts what depth and page sizes multiply, however much that is. */
export class CostCount {
  readonly root: Occurrences = { nodes: 1, values: 1, isPage: false };
  values = 0;
  private nodes = 0;
  private largest: { path: readonly string[]; nodes: number } | null = null;
  private deepest: readonly string[] = [];
  private pointsOfLists = 0;
  private hasOpenLists = false;

  constructor(private readonly limits: LimitsConfig) {}

  /**
   * Adds the nodes and values of a field. Aliases multiply values, but no nodes.
   * @returns how often the fields below it occur
   */
  add(selected: SelectedField, given: Record<string, unknown>, at: Occurrences): Occurrences {
    const { field, path } = selected;
    if (path.length > this.deepest.length) this.deepest = path;
    this.pointsOfLists += product(at.nodes, pointsOfLists(field.name, given));
    const argumentValues = Math.floor(JSON.stringify(given).length / CHARACTERS_OF_VALUE);
    const isPage = isConnection(field);
    const size = isPage ? pageSize(selected, given) : listSize(selected, given);
    const isOpenList = size === null && !at.isPage && isListType(getNullableType(field.type));
    if (isOpenList) this.hasOpenLists = true;
    const nodes = product(at.nodes, size ?? 1);
    // An empty page is a value, too, and so are its totals.
    const values = product(at.values, isOpenList ? LIST_SIZE : Math.max(1, size ?? 1));
    if (size !== null) {
      this.nodes = Math.min(LARGEST_COUNT, this.nodes + nodes);
      if (nodes > (this.largest?.nodes ?? 0)) this.largest = { path, nodes };
    }
    // A page below each of several parents is planned with its arguments for each of them.
    this.values += values + (at.values > 1 ? product(at.values, argumentValues) : 0);
    return { nodes, values, isPage };
  }

  get total(): OperationCost {
    const { deepest, largest, limits, nodes, values } = this;
    const largestConnection = largest && nameOf(largest.path);
    const share = largest && `Most nodes are in ${largestConnection}: ${largest.nodes}`;
    return {
      nodeCount: nodes,
      nodeLimit: limits.nodes,
      largestConnection,
      points: Math.min(LARGEST_COUNT, Math.max(1, Math.ceil(nodes / NODES_PER_POINT) + this.pointsOfLists)),
      values: this.hasOpenLists ? Infinity : values,
      rejection:
        excessOf('levels', deepest.length, limits.depth, `The deepest field is ${nameOf(deepest)}`) ??
        excessOf('requested nodes', nodes, limits.nodes, share) ??
        excessOf('values in its response', values, limits.nodes * VALUES_PER_NODE, share),
    };
  }
}

/** One for each hundred elements after the first, of all lists in an argument. @throws BadUserInputError for a list that is too long */
function pointsOfLists(name: string, value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const length = Array.isArray(value) ? value.length : 0;
  if (length > LONGEST_LIST)
    throw new BadUserInputError(`${name} must have at most ${LONGEST_LIST} elements`, name);
  let points = Math.floor(Math.max(0, length - 1) / NODES_PER_POINT);
  for (const [key, each] of Object.entries(value)) points += pointsOfLists(length > 0 ? name : key, each);
  return points;
}

function product(left: number, right: number): number {
  return Math.min(LARGEST_COUNT, left * right);
}

/** A field with `first` and `last` is a connection, which takes exactly one of them. */
export function isConnection({ args }: GraphQLField<unknown, unknown>): boolean {
  return ['first', 'last'].every((size) => args.some(({ name }) => name === size));
}

/** @throws ServiceError for wrong sizes: GRAPHQL_VALIDATION_FAILED if no variables can make them right */
function pageSize({ parentType, field, nodes }: SelectedField, values: Record<string, unknown>): number {
  const sizes = ['first', 'last'].filter((each) => (values[each] ?? null) !== null);
  const [name = 'first'] = sizes;
  const size = Number(values[name]);
  if (sizes.length === 1 && size >= 0 && size <= LARGEST_PAGE) return size;
  const isVariable = nodes[0]?.arguments?.some(
    ({ name: { value: given }, value }) => ['first', 'last'].includes(given) && value.kind === Kind.VARIABLE,
  );
  const coordinate = `${parentType.name}.${field.name}`;
  throw new ServiceError(
    isVariable === true ? 'BAD_USER_INPUT' : 'GRAPHQL_VALIDATION_FAILED',
    sizes.length === 1
      ? `${name} of ${coordinate} must be from 0 to ${LARGEST_PAGE}`
      : `${coordinate} takes exactly one of first and last`,
    { argument: name },
  );
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

export function excessOf(
  what: string,
  count: number,
  limit: number,
  where: string | null = null,
): string | null {
  if (count <= limit) return null;
  return `This operation has ${count} ${what}: at most ${limit} are allowed${where === null ? '' : `. ${where}`}`;
}

function nameOf(path: readonly string[]): string {
  return bounded(path.join('.'));
}
