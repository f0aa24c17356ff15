import {
  type FieldNode,
  getArgumentValues,
  getNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  Kind,
  type SelectionNode,
} from 'graphql';
import type { PageSelection, SelectedFields } from '../../common/page.js';

type Place = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;
type Fragments = Place['fragments'];

/** A list below an object that the operation selects there once, so that both can be read together. */
export interface SelectedList<Arguments> {
  readonly page: Arguments;
  readonly selection: PageSelection;
}

export interface SelectedObject<Arguments> {
  readonly fields: SelectedFields;
  readonly list: SelectedList<Arguments> | null;
}

/** Keeps what only nodes of a document decide, by the only node that selects a field, for as long as the document is cached. */
function kept<Selection>(read: (place: Place) => Selection): (place: Place) => Selection {
  const known = new WeakMap<FieldNode, Selection>();
  return (place) => {
    const [only, ...others] = place.fieldNodes;
    if (only === undefined || others.length > 0) return read(place);
    const selection = known.get(only) ?? read(place);
    known.set(only, selection);
    return selection;
  };
}

const objectAt = kept(({ fieldNodes, fragments }) => ({
  fields: fieldsBelow(fieldNodes, fragments),
  nodes: selectBelow(fieldNodes, fragments),
  // A conditional list may have a page size that has not been checked. Such a list is not read together with its object.
  certain: selectBelow(fieldNodes, fragments, ({ directives = [] }) => directives.length === 0),
}));

/** The selection of an object, with the `list` below it that may be read together with it. */
export function objectSelection<Arguments>(
  info: GraphQLResolveInfo,
  list: string,
): SelectedObject<Arguments> {
  const { fields, nodes, certain } = objectAt(info);
  const fieldNodes = certain.has(list) ? (nodes.get(list) ?? []) : [];
  const [node] = fieldNodes;
  const field = (getNamedType(info.returnType) as GraphQLObjectType).getFields()[list];
  const isOne = new Set(fieldNodes.map(({ alias, name }) => (alias ?? name).value)).size === 1;
  if (node === undefined || field === undefined || !isOne) return { fields, list: null };
  const page = getArgumentValues(field, node, info.variableValues) as Arguments;
  return { fields, list: { page, selection: pageSelection({ fieldNodes, fragments: info.fragments }) } };
}

/** The selection of an object that is read as the only row of a page. */
export const rowSelection = kept(({ fieldNodes, fragments }): PageSelection => {
  const node = fieldsBelow(fieldNodes, fragments);
  const nothing = { totalCount: false, hasNextPage: false, hasPreviousPage: false };
  return { cacheKey: nameOf(node), rows: true, cursors: 'none', ...nothing, node };
});

/**
 * The selection of a connection. `@skip`, `@include` and the types of fragments are ignored: at worst, unneeded data is read and then
 * omitted.
 */
export const pageSelection = kept(({ fieldNodes, fragments }): PageSelection => {
  const select = (fields: readonly FieldNode[] = []) => selectBelow(fields, fragments);
  const connection = select(fieldNodes);
  const pageInfo = select(connection.get('pageInfo'));
  const edges = select(connection.get('edges'));
  const hasEnds = pageInfo.has('startCursor') || pageInfo.has('endCursor');
  const ends = hasEnds ? 'ends' : 'none';
  const selection = {
    rows: connection.has('nodes') || connection.has('edges') || hasEnds,
    cursors: edges.has('cursor') ? 'every' : ends,
    totalCount: connection.has('totalCount'),
    hasNextPage: pageInfo.has('hasNextPage'),
    hasPreviousPage: pageInfo.has('hasPreviousPage'),
  } as const;
  const node = fieldsBelow([...(connection.get('nodes') ?? []), ...(edges.get('node') ?? [])], fragments);
  return { cacheKey: `${JSON.stringify(selection)} ${nameOf(node)}`, ...selection, node };
});

function fieldsBelow(fields: readonly FieldNode[], fragments: Fragments): SelectedFields {
  const below = selectBelow(fields, fragments);
  return new Map([...below].map(([name, nodes]) => [name, fieldsBelow(nodes, fragments)]));
}

function nameOf(fields: SelectedFields): string {
  const names = [...fields].map(([name, below]) => `${name}${below.size === 0 ? '' : nameOf(below)}`);
  return `{${names.sort().join(' ')}}`;
}

/** The fields selected below these fields, by name. Selections that are not taken are skipped. */
function selectBelow(
  fields: readonly FieldNode[],
  fragments: Fragments,
  isTaken: (selection: SelectionNode) => boolean = () => true,
): Map<string, FieldNode[]> {
  const selected = new Map<string, FieldNode[]>();
  const spread = new Set<string>();
  const collect = (set: FieldNode['selectionSet']) => {
    for (const selection of set?.selections ?? []) {
      if (!isTaken(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const { value: name } = selection.name;
        selected.set(name, [...(selected.get(name) ?? []), selection]);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        collect(fragments[selection.name.value]?.selectionSet);
      }
    }
  };
  for (const { selectionSet } of fields) collect(selectionSet);
  return selected;
}
