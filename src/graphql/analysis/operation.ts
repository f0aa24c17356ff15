import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isAbstractType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Access } from '../../auth/access.js';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import { refuseIntrospectionAliases } from './introspection-aliases.js';

/** Identifies one selection of an operation: the response keys from the root, and the field at their end. */
export type PathKey = string;

/** One `@skip` or `@include`, with its argument. The field is selected if all of its conditions hold. */
export interface Condition {
  readonly argument: boolean | { readonly variable: string };
  readonly expected: boolean;
}

/** A field that an operation selects, with fragments resolved. */
export interface SelectedField {
  readonly key: PathKey;
  readonly responsePath: readonly string[];
  readonly parentType: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
  /** All nodes of the document that select this field at this path. */
  readonly nodes: FieldNode[];
  /** The conditions of each node. The field is selected if all conditions of any one node hold. */
  readonly places: (readonly Condition[])[];
  readonly children: Map<string, SelectedField>;
}

/** The operation of a valid document that a request selects. */
export interface OperationRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly variables: Variables;
}

/** The selection of an operation as a tree, computed once for each document. */
export interface Operation {
  readonly definition: OperationDefinitionNode;
  readonly document: DocumentNode;
  readonly roots: Map<string, SelectedField>;
  readonly aliases: number;
  readonly directives: number;
  /** Number of fields after all fragments are unfolded. */
  readonly fieldCount: number;
  /** Memory size, as a number of fields. */
  readonly size: number;
  /** The variables that `@skip` and `@include` use. */
  readonly conditionVariables: readonly string[];
  /** Whether it selects introspection fields. */
  readonly introspects: boolean;
  /**
   * Whether a response key is `__proto__`, which some ways to build an object do not treat as an ordinary
   * key.
   */
  readonly hasPrototypeKey: boolean;
  /**
   * The cache dependencies of its response, independently of its variables; null if it has undeclared
   * dependencies.
   */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  /** Whether any part of it reads the mirror. */
  readonly readsMirror: boolean;
}

/** Maximum number of fields after unfolding. It is far above every configurable limit, and quick to reach. */
const UNFOLDED_FIELDS = 10_000;
/**
 * Maximum number of selections that unfolding visits: nested fragment spreads may contain no field that
 * applies to the type.
 */
const VISITED_SELECTIONS = 20_000;

/**
 * Unfolds an operation of a validated document.
 * @throws ServiceError QUERY_TOO_COMPLEX if its fragments unfold to too many fields, or if it repeats the
 * schema by aliases; GRAPHQL_VALIDATION_FAILED if the schema has no root type for the operation
 */
export function unfoldOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  definition: OperationDefinitionNode,
): Operation {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }
  const roots = new Map<string, SelectedField>();
  const unfolding: Unfolding = {
    schema,
    fragments,
    fields: 0,
    selections: 0,
    conditions: 0,
    aliases: 0,
    directives: 0,
    conditionVariables: new Set(),
    introspection: new Set(),
    hasPrototypeKey: false,
  };
  const rootType = schema.getRootType(definition.operation);
  if (!rootType) {
    // The validation rules accept such an operation, because they find no type against which to check its
    // fields.
    throw new ServiceError(
      'GRAPHQL_VALIDATION_FAILED',
      `There is nothing to ask for by a ${definition.operation}`,
    );
  }
  collect(unfolding, definition.selectionSet, [rootType], [], [], roots);
  const { fields, aliases, directives, conditionVariables, introspection, hasPrototypeKey } = unfolding;
  refuseIntrospectionAliases(introspection, fragments);
  return {
    definition,
    document,
    roots,
    aliases,
    directives,
    fieldCount: fields,
    size: 10 + fields + unfolding.conditions,
    conditionVariables: [...conditionVariables].sort(),
    introspects: introspection.size > 0,
    hasPrototypeKey,
    ...cacheDependenciesOf(roots),
  };
}

interface Unfolding {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  fields: number;
  selections: number;
  /** Total length of all lists of conditions. */
  conditions: number;
  aliases: number;
  directives: number;
  readonly conditionVariables: Set<string>;
  readonly introspection: Set<FieldNode>;
  hasPrototypeKey: boolean;
}

function collect(
  unfolding: Unfolding,
  selectionSet: SelectionSetNode,
  types: readonly GraphQLObjectType[],
  conditions: readonly Condition[],
  path: readonly string[],
  into: Map<string, SelectedField>,
): void {
  for (const selection of selectionSet.selections) {
    if (++unfolding.selections > VISITED_SELECTIONS) throw tooMuchUnfolded();
    const own = conditionsOf(selection);
    const here = own.length === 0 ? conditions : [...conditions, ...own];
    if (own.length > 0) unfolding.conditions += here.length;
    if (unfolding.conditions > VISITED_SELECTIONS) throw tooMuchUnfolded();
    unfolding.directives += own.length;
    for (const { argument } of own) {
      if (typeof argument === 'object') unfolding.conditionVariables.add(argument.variable);
    }
    switch (selection.kind) {
      case Kind.FIELD:
        if (selection.alias !== undefined) unfolding.aliases++;
        for (const type of types) collectField(unfolding, selection, type, here, path, into);
        break;
      case Kind.INLINE_FRAGMENT:
        collect(
          unfolding,
          selection.selectionSet,
          narrow(unfolding, types, selection.typeCondition?.name.value),
          here,
          path,
          into,
        );
        break;
      case Kind.FRAGMENT_SPREAD: {
        const fragment = unfolding.fragments.get(selection.name.value);
        if (fragment === undefined) break;
        collect(
          unfolding,
          fragment.selectionSet,
          narrow(unfolding, types, fragment.typeCondition.name.value),
          here,
          path,
          into,
        );
      }
    }
  }
}

function collectField(
  unfolding: Unfolding,
  node: FieldNode,
  type: GraphQLObjectType,
  conditions: readonly Condition[],
  path: readonly string[],
  into: Map<string, SelectedField>,
): void {
  if (++unfolding.fields > UNFOLDED_FIELDS) throw tooMuchUnfolded();
  const responseKey = node.alias?.value ?? node.name.value;
  if (responseKey === '__proto__') unfolding.hasPrototypeKey = true;
  const field = type.getFields()[node.name.value];
  if (field === undefined) {
    // __typename and introspection fields, which need no token.
    if (node.name.value !== '__typename') unfolding.introspection.add(node);
    return;
  }
  const responsePath = [...path, responseKey];
  const key = pathKey(responsePath, type.name, field.name);
  const selected = into.get(key) ?? {
    key,
    responsePath,
    parentType: type,
    field,
    nodes: [],
    places: [],
    children: new Map<string, SelectedField>(),
  };
  selected.nodes.push(node);
  selected.places.push(conditions);
  into.set(key, selected);
  if (node.selectionSet === undefined) return;
  collect(
    unfolding,
    node.selectionSet,
    possibleTypes(unfolding.schema, field),
    conditions,
    responsePath,
    selected.children,
  );
}

function tooMuchUnfolded(): ServiceError {
  return new ServiceError(
    'QUERY_TOO_COMPLEX',
    `The fragments of this operation unfold to more than ${UNFOLDED_FIELDS} fields`,
  );
}

export function pathKey(responsePath: readonly string[], typeName: string, fieldName: string): PathKey {
  return `${responsePath.join('.')}:${typeName}.${fieldName}`;
}

function possibleTypes(
  schema: GraphQLSchema,
  field: GraphQLField<unknown, unknown>,
): readonly GraphQLObjectType[] {
  const type = getNamedType(field.type);
  if (isObjectType(type)) return [type];
  return isAbstractType(type) ? schema.getPossibleTypes(type) : [];
}

function narrow(
  { schema }: Unfolding,
  types: readonly GraphQLObjectType[],
  condition: string | undefined,
): readonly GraphQLObjectType[] {
  if (condition === undefined) return types;
  const named = schema.getType(condition);
  return types.filter((type) => type === named || (isAbstractType(named) && schema.isSubType(named, type)));
}

/** Returns the conditions of a field or fragment. */
export function conditionsOf({ directives }: Pick<SelectionNode, 'directives'>): Condition[] {
  return (directives ?? []).flatMap(({ name, arguments: given }): Condition[] => {
    if (name.value !== 'skip' && name.value !== 'include') return [];
    const value = given?.find((argument) => argument.name.value === 'if')?.value;
    if (value?.kind === Kind.VARIABLE) {
      return [{ argument: { variable: value.name.value }, expected: name.value === 'include' }];
    }
    return [{ argument: value?.kind === Kind.BOOLEAN && value.value, expected: name.value === 'include' }];
  });
}

export type Variables = Readonly<Record<string, unknown>>;

/**
 * Whether one `@skip` or `@include` keeps its field or fragment.
 * @throws BadUserInputError if its variable is null, which is possible for a variable with a default
 */
export function holds({ argument, expected }: Condition, variables: Variables): boolean {
  if (typeof argument === 'boolean') return argument === expected;
  const value = variables[argument.variable];
  if (typeof value === 'boolean') return value === expected;
  throw new BadUserInputError(`$${argument.variable} must be true or false`, argument.variable);
}

/** Whether `@skip` and `@include` keep the field. Throws like `holds`. */
function isSelected({ places }: SelectedField, variables: Variables): boolean {
  return places.some((conditions) => conditions.every((condition) => holds(condition, variables)));
}

/** The fields of a selection set that are selected with these variables. */
export function* selectedAmong(
  fields: Map<string, SelectedField>,
  variables: Variables,
): Generator<SelectedField> {
  for (const field of fields.values()) if (isSelected(field, variables)) yield field;
}

/** The access that a field requires. Every field declares one; otherwise finishSchema rejects the schema. */
export function accessOf(field: GraphQLField<unknown, unknown>): Access {
  return field.extensions['access'] as Access;
}

/** The cache dependencies of the response. `readsMirror` is also true if a root field declares nothing. */
function cacheDependenciesOf(
  roots: ReadonlyMap<string, SelectedField>,
): Pick<Operation, 'cacheDependencies' | 'readsMirror'> {
  const found = new Set<CacheDependency>();
  let isDeclared = true;
  for (const root of roots.values()) {
    if (root.field.name !== '__typename' && declaredBy(root) === null) isDeclared = false;
    addDependences(root, found);
  }
  return {
    cacheDependencies: isDeclared && !found.has('request') ? found : null,
    readsMirror: !isDeclared || found.has('mirror'),
  };
}

function addDependences(selected: SelectedField, into: Set<CacheDependency>): void {
  for (const dependence of declaredBy(selected) ?? []) into.add(dependence);
  for (const child of selected.children.values()) addDependences(child, into);
}

function declaredBy({ field }: SelectedField): readonly CacheDependency[] | null {
  return (field.extensions['dependsOn'] as readonly CacheDependency[] | undefined) ?? null;
}

/** Longer operation names are not reported, because clients choose them. */
const MAX_NAME_LENGTH = 40;

/** The label of an operation in logs and metrics. It contains no data of the request. */
export interface OperationLabel {
  readonly type: `${OperationTypeNode}`;
  /** The operation name from the client; null if there is none, or if it is too long. */
  readonly name: string | null;
  /** Its root field; `several` for more than one, or `schema` if it selects introspection only. */
  readonly field: string;
}

const labels = new WeakMap<Operation, OperationLabel>();

export function labelOf(operation: Operation): OperationLabel {
  let label = labels.get(operation);
  if (label === undefined) {
    const { operation: type } = operation.definition;
    label = { type, name: nameOf(operation.definition), field: fieldOf(operation) };
    labels.set(operation, label);
  }
  return label;
}

function nameOf({ name }: OperationDefinitionNode): string | null {
  const given = name?.value ?? null;
  return given === null || given.length > MAX_NAME_LENGTH ? null : given;
}

function fieldOf({ roots }: Operation): string {
  const names = new Set([...roots.values()].map(({ field }) => field.name));
  const [name = 'schema', ...others] = names;
  return others.length > 0 ? 'several' : name;
}
