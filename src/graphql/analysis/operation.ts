import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  type OperationTypeNode,
  type SelectionNode,
  separateOperations,
  visit,
} from 'graphql';
import type { Access } from '../../auth/access.js';
import { BadUserInputError } from '../../common/errors.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';

/** Identifies one selection of an operation: the response keys from the root, and the field at their end. */
export type PathKey = string;

/** The place of a value in a response: response keys, and positions in lists. */
export type ResponsePath = readonly (string | number)[];

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
  /** All nodes of the syntax tree that select this field at this path. */
  readonly fieldNodes: FieldNode[];
  /** The conditions of each node. The field is selected if all conditions of any one node hold. */
  readonly places: (readonly Condition[])[];
  readonly children: Map<string, SelectedField>;
}

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
  readonly introspects: boolean;
  /** Whether a response key is `__proto__`, which not every way to build an object accepts. */
  readonly hasPrototypeKey: boolean;
  /** What its response depends on, for any variables; null if a dependency is not declared. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  /** Whether any part of it reads the mirror. */
  readonly readsMirror: boolean;
  readonly label: OperationLabel;
}

export function pathKey(responsePath: readonly string[], typeName: string, fieldName: string): PathKey {
  return `${responsePath.join('.')}:${typeName}.${fieldName}`;
}

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
 * Whether one `@skip` or `@include` keeps its selection. Throws BadUserInputError if the variable is null.
 */
export function holds({ argument, expected }: Condition, variables: Variables): boolean {
  if (typeof argument === 'boolean') return argument === expected;
  const value = variables[argument.variable];
  if (typeof value === 'boolean') return value === expected;
  throw new BadUserInputError(`$${argument.variable} must be true or false`, argument.variable);
}

/**
 * The operation alone, with `@skip` and `@include` applied: graphql-jit decides them wrongly for a fragment that
 * is spread twice. Null if a condition uses a variable that is null, which graphql-js has to decide.
 */
export function decideConditions(
  { definition, document }: Operation,
  variables: Variables,
): DocumentNode | null {
  const decide = (node: { readonly directives?: readonly DirectiveNode[] }) => {
    if ((node.directives ?? []).length === 0) return undefined;
    return conditionsOf(node).every((condition) => holds(condition, variables))
      ? { ...node, directives: [] }
      : null;
  };
  // Fragments of other operations may use variables that this operation does not declare.
  const alone = separateOperations(document)[definition.name?.value ?? ''] ?? document;
  try {
    return visit(alone, { Field: decide, InlineFragment: decide, FragmentSpread: decide });
  } catch (error) {
    if (error instanceof BadUserInputError) return null;
    throw error;
  }
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

/** The label of an operation in logs and metrics. It contains no data of the request. */
export interface OperationLabel {
  readonly type: `${OperationTypeNode}`;
  /** The operation name from the client; null if there is none, or if it is too long. */
  readonly name: string | null;
  /** Its root field; `several` for more than one, or `schema` if it selects introspection only. */
  readonly field: string;
}

/** The cache dependencies of the response. `readsMirror` is also true if a root field declares nothing. */
export function cacheDependenciesOf(
  roots: ReadonlyMap<string, SelectedField>,
): Pick<Operation, 'cacheDependencies' | 'readsMirror'> {
  const found = new Set<CacheDependency>();
  let isDeclared = true;
  for (const root of roots.values()) {
    if (root.field.name !== '__typename' && declaredBy(root) === null) isDeclared = false;
    addCacheDependencies(root, found);
  }
  return {
    cacheDependencies: isDeclared && !found.has('request') ? found : null,
    readsMirror: !isDeclared || found.has('mirror'),
  };
}

function addCacheDependencies(selected: SelectedField, into: Set<CacheDependency>): void {
  for (const dependency of declaredBy(selected) ?? []) into.add(dependency);
  for (const { type } of givenArguments(selected))
    for (const each of cacheDependenciesOfInput(type)) into.add(each);
  for (const child of selected.children.values()) addCacheDependencies(child, into);
}

function givenArguments({ field, fieldNodes }: SelectedField): GraphQLArgument[] {
  const names = new Set(
    fieldNodes.flatMap(({ arguments: given }) => (given ?? []).map(({ name }) => name.value)),
  );
  return field.args.filter(({ name }) => names.has(name));
}

const ofInputs = new WeakMap<GraphQLNamedType, ReadonlySet<CacheDependency>>();

/** What the members of an input declare, at any depth. The variables may have any of the members. */
function cacheDependenciesOfInput(type: GraphQLInputType): ReadonlySet<CacheDependency> {
  const named = getNamedType(type);
  const known = ofInputs.get(named);
  if (known !== undefined) return known;
  const found = new Set<CacheDependency>();
  // An input that contains itself adds nothing.
  ofInputs.set(named, found);
  const members = isInputObjectType(named) ? Object.values(named.getFields()) : [];
  for (const { extensions, type: inner } of members) {
    for (const each of (extensions['dependsOn'] as readonly CacheDependency[] | undefined) ?? [])
      found.add(each);
    for (const each of cacheDependenciesOfInput(inner)) found.add(each);
  }
  return found;
}

function declaredBy({ field }: SelectedField): readonly CacheDependency[] | null {
  return (field.extensions['dependsOn'] as readonly CacheDependency[] | undefined) ?? null;
}
