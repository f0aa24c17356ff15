import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { GqlExecutionContext } from '@nestjs/graphql';
import {
  type FieldNode,
  getArgumentValues,
  getNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { PageSelection, SelectedCursors, SelectedFields } from '../../common/page.js';

/** The location of a connection in a document. */
type Place = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;

/**
 * A resolver parameter with the selection of a connection. `@skip`, `@include` and the types of fragments are
 * ignored: at worst, unneeded data is read and then omitted.
 */
export const SelectedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageSelection => {
  return pageSelection(GqlExecutionContext.create(context).getInfo<GraphQLResolveInfo>());
});

/** Selections by the first node that selects a connection, for as long as the document is cached. */
const known = new WeakMap<FieldNode, { fieldNodes: readonly FieldNode[]; selection: PageSelection }>();

/** A list below an object that the operation selects there once, so that both can be read together. */
export interface SelectedList<Arguments> {
  readonly page: Arguments;
  readonly selection: PageSelection;
}

export interface SelectedObject<Arguments> {
  readonly fields: SelectedFields;
  readonly list: SelectedList<Arguments> | null;
}

/** Selections by the first node that selects an object, for as long as the document is cached. */
const objects = new WeakMap<FieldNode, { fields: SelectedFields; nodes: readonly FieldNode[] }>();

/** The selection of an object, with the `list` below it that may be read together with it. */
export function objectSelection<Arguments>(
  info: GraphQLResolveInfo,
  list: string,
): SelectedObject<Arguments> {
  const { fieldNodes, fragments, returnType, variableValues } = info;
  const [first] = fieldNodes;
  let object = first === undefined || fieldNodes.length > 1 ? undefined : objects.get(first);
  if (object === undefined) {
    // A conditional list may have a page size that has not been checked. Such a list is not read together
    // with its object.
    const isCertain = selectBelow(fieldNodes, fragments, isUnconditional).has(list);
    const nodes = isCertain ? selectBelow(fieldNodes, fragments).get(list) : undefined;
    object = { fields: fieldsBelow(fieldNodes, fragments), nodes: nodes ?? [] };
    if (first !== undefined && fieldNodes.length === 1) objects.set(first, object);
  }
  const { fields, nodes } = object;
  const [node] = nodes;
  const field = (getNamedType(returnType) as GraphQLObjectType).getFields()[list];
  const isOne = new Set(nodes.map(({ alias, name }) => (alias ?? name).value)).size === 1;
  if (node === undefined || field === undefined || !isOne) return { fields, list: null };
  const page = getArgumentValues(field, node, variableValues) as Arguments;
  return { fields, list: { page, selection: pageSelection({ fieldNodes: nodes, fragments }) } };
}

export function pageSelection(place: Place, read = readSelection): PageSelection {
  const { fieldNodes } = place;
  const [first] = fieldNodes;
  const before = first === undefined ? undefined : known.get(first);
  // The set of nodes that select the same field can differ between uses of a fragment, so all nodes are
  // compared.
  if (before !== undefined && isSame(before.fieldNodes, fieldNodes)) return before.selection;
  const selection = read(place);
  if (first !== undefined) known.set(first, { fieldNodes, selection });
  return selection;
}

/** The selection of an object that is read as the only row of a page. */
export function rowSelection(place: Place): PageSelection {
  return pageSelection(place, ({ fieldNodes, fragments }) => {
    const node = fieldsBelow(fieldNodes, fragments);
    return { cacheKey: nameOf(node), ...ONE_ROW, node };
  });
}

const ONE_ROW = {
  rows: true,
  cursors: 'none',
  totalCount: false,
  hasNextPage: false,
  hasPreviousPage: false,
} as const;

function isSame(left: readonly FieldNode[], right: readonly FieldNode[]): boolean {
  return left.length === right.length && left.every((node, index) => node === right[index]);
}

function readSelection({ fieldNodes, fragments }: Place): PageSelection {
  const select = (fields: readonly FieldNode[] = []) => selectBelow(fields, fragments);
  const connection = select(fieldNodes);
  const pageInfo = select(connection.get('pageInfo'));
  const edges = select(connection.get('edges'));
  const hasEnds = pageInfo.has('startCursor') || pageInfo.has('endCursor');
  const selection = {
    rows: connection.has('nodes') || connection.has('edges') || hasEnds,
    cursors: cursorsOf(edges.has('cursor'), hasEnds),
    totalCount: connection.has('totalCount'),
    hasNextPage: pageInfo.has('hasNextPage'),
    hasPreviousPage: pageInfo.has('hasPreviousPage'),
  };
  const node = fieldsBelow([...(connection.get('nodes') ?? []), ...(edges.get('node') ?? [])], fragments);
  return { cacheKey: `${JSON.stringify(selection)} ${nameOf(node)}`, ...selection, node };
}

function cursorsOf(hasEdges: boolean, hasEnds: boolean): SelectedCursors {
  if (hasEdges) return 'every';
  return hasEnds ? 'ends' : 'none';
}

type Fragments = Place['fragments'];

function fieldsBelow(fields: readonly FieldNode[], fragments: Fragments): SelectedFields {
  const below = selectBelow(fields, fragments);
  return new Map([...below].map(([name, nodes]) => [name, fieldsBelow(nodes, fragments)]));
}

function nameOf(fields: SelectedFields): string {
  const names = [...fields].map(([name, below]) => `${name}${below.size === 0 ? '' : nameOf(below)}`);
  return `{${names.sort().join(' ')}}`;
}

function isUnconditional({ directives = [] }: SelectionNode): boolean {
  return directives.length === 0;
}

/** The fields selected below these fields, by name. Selections that are not taken are skipped. */
function selectBelow(
  fields: readonly FieldNode[],
  fragments: Fragments,
  isTaken: (selection: SelectionNode) => boolean = () => true,
): Map<string, FieldNode[]> {
  const selected = new Map<string, FieldNode[]>();
  const spread = new Set<string>();
  for (const { selectionSet } of fields) collect(selectionSet);
  return selected;

  function collect(set: SelectionSetNode | undefined): void {
    for (const selection of set?.selections ?? []) {
      if (!isTaken(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const { value: name } = selection.name;
        const nodes = selected.get(name);
        if (nodes === undefined) selected.set(name, [selection]);
        else nodes.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        collect(fragments[selection.name.value]?.selectionSet);
      }
    }
  }
}
