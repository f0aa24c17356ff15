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
import type { PageSelection, SelectedFields } from '../../common/page.js';

/** The location of a connection in a document. */
type Place = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>;
type Fragments = Place['fragments'];

/**
 * A resolver parameter with the selection of a connection. `@skip`, `@include` and the types of fragments are
 * ignored: at worst, unneeded data is read and then omitted.
 */
export const SelectedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageSelection => {
  return pageSelection(GqlExecutionContext.create(context).getInfo<GraphQLResolveInfo>());
});

/** A list below an object that the operation selects there once, so that both can be read together. */
export interface SelectedList<Arguments> {
  readonly page: Arguments;
  readonly selection: PageSelection;
}

export interface SelectedObject<Arguments> {
  readonly fields: SelectedFields;
  readonly list: SelectedList<Arguments> | null;
}

/** What only nodes of a document decide, by the only node that selects a field, for as long as the document is cached. */
class KnownSelections<Selection> {
  private readonly known = new WeakMap<FieldNode, Selection>();

  find({ fieldNodes }: Place, read: () => Selection): Selection {
    const [only, ...others] = fieldNodes;
    const selection = (only && others.length === 0 ? this.known.get(only) : undefined) ?? read();
    if (only && others.length === 0) this.known.set(only, selection);
    return selection;
  }
}

const pages = new KnownSelections<PageSelection>();
const rows = new KnownSelections<PageSelection>();
const objects = new KnownSelections<{ fields: SelectedFields; nodes: readonly FieldNode[] }>();

/** The selection of an object, with the `list` below it that may be read together with it. */
export function objectSelection<Arguments>(
  info: GraphQLResolveInfo,
  list: string,
): SelectedObject<Arguments> {
  const { fieldNodes, fragments, returnType, variableValues } = info;
  const { fields, nodes } = objects.find(info, () => {
    // A conditional list may have a page size that has not been checked. Such a list is not read together
    // with its object.
    const isCertain = selectBelow(fieldNodes, fragments, isUnconditional).has(list);
    const below = isCertain ? selectBelow(fieldNodes, fragments).get(list) : undefined;
    return { fields: fieldsBelow(fieldNodes, fragments), nodes: below ?? [] };
  });
  const [node] = nodes;
  const field = (getNamedType(returnType) as GraphQLObjectType).getFields()[list];
  const isOne = new Set(nodes.map(({ alias, name }) => (alias ?? name).value)).size === 1;
  if (node === undefined || field === undefined || !isOne) return { fields, list: null };
  const page = getArgumentValues(field, node, variableValues) as Arguments;
  return { fields, list: { page, selection: pageSelection({ fieldNodes: nodes, fragments }) } };
}

/** The selection of an object that is read as the only row of a page. */
export function rowSelection({ fieldNodes, fragments }: Place): PageSelection {
  return rows.find({ fieldNodes, fragments }, () => {
    const node = fieldsBelow(fieldNodes, fragments);
    const nothing = { totalCount: false, hasNextPage: false, hasPreviousPage: false };
    return { cacheKey: nameOf(node), rows: true, cursors: 'none', ...nothing, node };
  });
}

export function pageSelection({ fieldNodes, fragments }: Place): PageSelection {
  return pages.find({ fieldNodes, fragments }, () => {
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
}

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
export function selectBelow(
  fields: readonly { readonly selectionSet?: SelectionSetNode | undefined }[],
  fragments: Fragments,
  isTaken: (selection: SelectionNode) => boolean = () => true,
): Map<string, FieldNode[]> {
  const selected = new Map<string, FieldNode[]>();
  const spread = new Set<string>();
  const collect = (set: SelectionSetNode | undefined) => {
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
  };
  for (const { selectionSet } of fields) collect(selectionSet);
  return selected;
}
