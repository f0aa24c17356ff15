import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { ServiceError } from '../../common/errors.js';
import {
  cacheDependenciesOf,
  type Condition,
  conditionsOf,
  type Operation,
  type OperationLabel,
  pathKey,
  type SelectedField,
} from './operation.js';

/** Maximum number of fields after unfolding. It is far above every configurable limit, and quick to reach. */
const UNFOLDED_FIELDS = 10_000;
/** Selections that unfolding visits. Nested spreads may contain no field that applies to the type. */
const VISITED_SELECTIONS = 20_000;

/** Characters of the paths of all unfolded fields. Those of 10,000 fields without long aliases have a tenth. */
const UNFOLDED_CHARACTERS = 4_000_000;

/** Longer operation names are not reported, because clients choose them. */
const MAX_NAME_LENGTH = 40;

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * Unfolds an operation of a validated document.
 * @throws ServiceError QUERY_TOO_COMPLEX; GRAPHQL_VALIDATION_FAILED if there is no such root type
 */
export function unfoldOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  definition: OperationDefinitionNode,
): Operation {
  const rootType = schema.getRootType(definition.operation);
  if (!rootType) {
    // The validation rules find no type against which to check the fields of such an operation, and accept it.
    const message = `The schema has no root type for a ${definition.operation}`;
    throw new ServiceError('GRAPHQL_VALIDATION_FAILED', message);
  }
  const fragments: Fragments = new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [],
    ),
  );
  const unfolding = new Unfolding(schema, fragments);
  const roots = new Map<string, SelectedField>();
  unfolding.collect(definition.selectionSet, { types: [rootType], conditions: [], path: [], into: roots });
  refuseIntrospectionAliases(unfolding.introspection, fragments);
  const { aliases, directives, fields, conditions, hasPrototypeKey } = unfolding;
  return {
    definition,
    document,
    roots,
    aliases,
    directives,
    fieldCount: fields,
    size: 10 + fields + conditions,
    conditionVariables: [...unfolding.conditionVariables].sort(),
    introspects: unfolding.introspection.size > 0,
    hasPrototypeKey,
    ...cacheDependenciesOf(roots),
    label: labelOf(definition, roots),
  };
}

/** Where a selection set is: under which types and conditions, and where its fields are added. */
interface Level {
  readonly types: readonly GraphQLObjectType[];
  readonly conditions: readonly Condition[];
  readonly path: readonly string[];
  readonly into: Map<string, SelectedField>;
}

class Unfolding {
  fields = 0;
  /** Total length of all lists of conditions. */
  conditions = 0;
  aliases = 0;
  directives = 0;
  hasPrototypeKey = false;
  readonly conditionVariables = new Set<string>();
  readonly introspection = new Set<FieldNode>();
  private selections = 0;
  private characters = 0;

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Fragments,
  ) {}

  collect({ selections }: SelectionSetNode, level: Level): void {
    for (const selection of selections) {
      if (++this.selections > VISITED_SELECTIONS) throw tooMuchUnfolded();
      const inner = { ...level, conditions: this.addConditions(selection, level.conditions) };
      if (selection.kind !== Kind.FIELD) {
        this.collectFragment(selection, inner);
        continue;
      }
      if (selection.alias !== undefined) this.aliases++;
      for (const type of level.types) this.collectField(selection, type, inner);
    }
  }

  private addConditions(selection: SelectionNode, outer: readonly Condition[]): readonly Condition[] {
    const own = conditionsOf(selection);
    if (own.length === 0) return outer;
    this.directives += own.length;
    this.conditions += outer.length + own.length;
    if (this.conditions > VISITED_SELECTIONS) throw tooMuchUnfolded();
    for (const { argument } of own) {
      if (typeof argument === 'object') this.conditionVariables.add(argument.variable);
    }
    return [...outer, ...own];
  }

  private collectFragment(selection: InlineFragmentNode | FragmentSpreadNode, level: Level): void {
    const fragment =
      selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments.get(selection.name.value) : selection;
    if (fragment === undefined) return;
    const types = this.narrow(level.types, fragment.typeCondition?.name.value);
    this.collect(fragment.selectionSet, { ...level, types });
  }

  private collectField(node: FieldNode, type: GraphQLObjectType, level: Level): void {
    if (++this.fields > UNFOLDED_FIELDS) throw tooMuchUnfolded();
    const { value: name } = node.name;
    const responseKey = node.alias?.value ?? name;
    if (responseKey === '__proto__') this.hasPrototypeKey = true;
    const field = type.getFields()[name];
    if (field === undefined) {
      // __typename and introspection fields, which need no token.
      if (name !== '__typename') this.introspection.add(node);
      return;
    }
    const { conditions, path, into } = level;
    const responsePath = [...path, responseKey];
    const key = pathKey(responsePath, type.name, name);
    if ((this.characters += key.length) > UNFOLDED_CHARACTERS) throw pathsTooLong();
    const children = new Map<string, SelectedField>();
    const known = { key, responsePath, parentType: type, field, fieldNodes: [], places: [], children };
    const selected: SelectedField = into.get(key) ?? known;
    selected.fieldNodes.push(node);
    selected.places.push(conditions);
    into.set(key, selected);
    if (node.selectionSet === undefined) return;
    const types = this.possibleTypes(field);
    this.collect(node.selectionSet, { types, conditions, path: responsePath, into: selected.children });
  }

  private possibleTypes(field: GraphQLField<unknown, unknown>): readonly GraphQLObjectType[] {
    const type = getNamedType(field.type);
    if (isObjectType(type)) return [type];
    return isAbstractType(type) ? this.schema.getPossibleTypes(type) : [];
  }

  private narrow(
    types: readonly GraphQLObjectType[],
    condition: string | undefined,
  ): readonly GraphQLObjectType[] {
    if (condition === undefined) return types;
    const named = this.schema.getType(condition);
    return types.filter(
      (type) => type === named || (isAbstractType(named) && this.schema.isSubType(named, type)),
    );
  }
}

function tooMuchUnfolded(): ServiceError {
  return new ServiceError(
    'QUERY_TOO_COMPLEX',
    `The fragments of this operation unfold to more than ${UNFOLDED_FIELDS} fields`,
  );
}

function pathsTooLong(): ServiceError {
  return new ServiceError(
    'QUERY_TOO_COMPLEX',
    `The paths of all fields of this operation have more than ${UNFOLDED_CHARACTERS} characters: use shorter aliases`,
  );
}

function labelOf(
  { operation: type, name }: OperationDefinitionNode,
  roots: ReadonlyMap<string, SelectedField>,
): OperationLabel {
  const given = name?.value ?? null;
  const [field = 'schema', ...others] = new Set([...roots.values()].map((root) => root.field.name));
  return {
    type,
    name: given === null || given.length > MAX_NAME_LENGTH ? null : given,
    field: others.length > 0 ? 'several' : field,
  };
}

/**
 * Rejects aliases that repeat the schema in a response, which the limit of nodes does not count: `__schema` has
 * one name, and fields below introspection fields have no aliases. Throws ServiceError QUERY_TOO_COMPLEX.
 */
function refuseIntrospectionAliases(nodes: ReadonlySet<FieldNode>, fragments: Fragments): void {
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
  fragments: Fragments,
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
