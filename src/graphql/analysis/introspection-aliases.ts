import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';
import { ServiceError } from '../../common/errors.js';

/**
 * Rejects aliases that repeat the schema in a response: fields below introspection fields may have none, and
 * `__schema` may be selected under one name only. Such a response has no nodes for the node limit to count,
 * and takes hundreds of times as long as its request.
 * @param nodes the introspection fields that an operation selects
 * @throws ServiceError QUERY_TOO_COMPLEX
 */
export function refuseIntrospectionAliases(
  nodes: ReadonlySet<FieldNode>,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  const names = new Set<string>();
  const spread = new Set<string>();
  for (const { name, alias, selectionSet } of nodes) {
    if (name.value === '__schema') names.add((alias ?? name).value);
    if (names.size > 1 || hasAlias(selectionSet, fragments, spread)) {
      throw new ServiceError(
        'QUERY_TOO_COMPLEX',
        'This operation has too many aliases: __schema has one name, and no field below it or __type has an alias',
      );
    }
  }
}

/** @param spread names of the fragments that have been visited */
function hasAlias(
  selectionSet: SelectionSetNode | undefined,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  spread: Set<string>,
): boolean {
  return (selectionSet?.selections ?? []).some((selection) => {
    if (selection.kind !== Kind.FRAGMENT_SPREAD) {
      const isAliased = selection.kind === Kind.FIELD && selection.alias !== undefined;
      return isAliased || hasAlias(selection.selectionSet, fragments, spread);
    }
    const { value: name } = selection.name;
    if (spread.has(name)) return false;
    spread.add(name);
    return hasAlias(fragments.get(name)?.selectionSet, fragments, spread);
  });
}
