import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { GqlExecutionContext } from '@nestjs/graphql';
import type { FieldNode, GraphQLResolveInfo, SelectionSetNode } from 'graphql';
import { Kind } from 'graphql';
import type { PageSelection } from '../common/page.js';

/**
 * What of a connection is selected, for a resolver's parameter. `@skip` and `@include` are not looked at: at
 * worst something is read that is then left out.
 */
export const SelectedPage = createParamDecorator((_: unknown, context: ExecutionContext): PageSelection => {
  return pageSelection(GqlExecutionContext.create(context).getInfo<GraphQLResolveInfo>());
});

export function pageSelection(info: GraphQLResolveInfo): PageSelection {
  const connection = select(info, info.fieldNodes);
  const pageInfo = select(info, connection.get('pageInfo') ?? []);
  return {
    rows:
      connection.has('nodes') ||
      connection.has('edges') ||
      pageInfo.has('startCursor') ||
      pageInfo.has('endCursor'),
    totalCount: connection.has('totalCount'),
    hasNextPage: pageInfo.has('hasNextPage'),
    hasPreviousPage: pageInfo.has('hasPreviousPage'),
  };
}

/** The fields selected below these ones, by name. */
function select(info: GraphQLResolveInfo, fields: readonly FieldNode[]): Map<string, FieldNode[]> {
  const selected = new Map<string, FieldNode[]>();
  for (const { selectionSet } of fields) collect(info, selectionSet, selected);
  return selected;
}

function collect(
  info: GraphQLResolveInfo,
  set: SelectionSetNode | undefined,
  into: Map<string, FieldNode[]>,
): void {
  for (const selection of set?.selections ?? []) {
    if (selection.kind === Kind.FIELD) {
      const { value: name } = selection.name;
      into.set(name, [...(into.get(name) ?? []), selection]);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      collect(info, selection.selectionSet, into);
    } else {
      collect(info, info.fragments[selection.name.value]?.selectionSet, into);
    }
  }
}
