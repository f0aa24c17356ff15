import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';
import { ServiceError } from '../../common/errors.js';

/**
 * Refuses aliases that repeat the schema in an answer: below the fields of introspection there may be none, and `__schema` may
 * be selected under one name. The answer has no nodes that are counted otherwise, and takes hundreds of times as long as the
 * question.
 * @param nodes the fields of introspection that an operation selects
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

/** @param spread fragments that have been looked at */
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
