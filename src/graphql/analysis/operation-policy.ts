import {
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getArgumentValues,
  getNamedType,
  getNullableType,
  GraphQLError,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isCompositeType,
  isInputObjectType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { collectFields } from 'graphql/execution/collectFields.js';
import type { Access } from '../../auth/access.js';
import { UnauthenticatedError } from '../../auth/authentication.error.js';
import { grantedScopes, type Principal } from '../../auth/principal.js';
import { accessRefusal } from '../../auth/scopes.guard.js';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import type { CacheDependency } from '../cache/response-cache.js';
import {
  CostCount,
  excessOf,
  type Occurrences,
  type OperationCost,
  type SelectedField,
} from './operation-cost.js';
import { personalDataOf, type PersonalDataSelection } from './personal-data-selection.js';

/** Selections that a walk visits, for each type that they may be of: far above what limits allow, and quick to reach. */
const MOST_SELECTIONS = 20_000;
/** Maximum number of selections of a compiled operation. Code size and compile time grow with it. */
const COMPILED_SELECTIONS = 500;

export type Variables = Readonly<Record<string, unknown>>;

export interface OperationRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  readonly variables: Variables;
}

/** The decision about an operation, for a token with certain scopes. */
export interface PolicyDecision {
  readonly cost: OperationCost;
  /** The fields `rateLimit(dryRun: true)`, if nothing else is executed. */
  readonly dryRunFields: readonly FieldNode[] | null;
  /** Whether it is a mutation that runs a resolver. Its changes stay within its own preview. */
  readonly isMutation: boolean;
  /** The personal data that it selects; null if there is none, or if the access log is off. */
  readonly personalData: PersonalDataSelection | null;
  /** What its response depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  readonly readsMirror: boolean;
  readonly isCompilable: boolean;
}

interface Place {
  readonly types: readonly GraphQLObjectType[];
  readonly path: readonly string[];
  readonly occurrences: Occurrences;
  readonly isWithheld: boolean;
}

/**
 * Decides by limits and scopes, in one walk over what the operation selects with these variables. Fragments, aliases and directives
 * are resolved, so no spelling of a field bypasses it.
 */
export class PolicyWalk {
  private readonly cost: CostCount;
  private readonly isMutation: boolean;
  private readonly fragments: Record<string, FragmentDefinitionNode>;
  private readonly personalData: PersonalDataSelection[number][] = [];
  private readonly dependencies = new Set<CacheDependency>();
  private readonly dryRunFields: FieldNode[] = [];
  private readonly withheld: ServiceError[] = [];
  private tokenNeeded: ServiceError | null = null;
  private guardedInput: ServiceError | null = null;
  private selections = 0;
  private aliases = 0;
  private isDryRun = false;
  private isCacheable = true;
  private isCompilable = true;

  /** @param variables coerced */
  constructor(
    private readonly request: OperationRequest,
    private readonly variables: Variables,
    private readonly principal: Principal | null,
    private readonly config: Pick<Config, 'limits' | 'accessLogDays'>,
  ) {
    this.cost = new CostCount(config.limits);
    this.isMutation = request.definition.operation === OperationTypeNode.MUTATION;
    const isFragment = (node: DefinitionNode) => node.kind === Kind.FRAGMENT_DEFINITION;
    const fragments = request.document.definitions.filter(isFragment);
    this.fragments = Object.fromEntries(fragments.map((node) => [node.name.value, node]));
  }

  /** @throws ServiceError when the operation must not run at all; UnauthenticatedError if a field requires a token and there is none */
  decide(): PolicyDecision {
    const { operation, selectionSet } = this.request.definition;
    const rootType = this.request.schema.getRootType(operation);
    if (!rootType) {
      // The validation rules find no type against which to check the fields of such an operation, and accept it.
      const message = `The schema has no root type for a ${operation}`;
      throw new ServiceError('GRAPHQL_VALIDATION_FAILED', message);
    }
    const place = { types: [rootType], path: [], occurrences: this.cost.root, isWithheld: false };
    const { fields: roots, shown } = this.visit(selectionSet.selections, place);
    const { dependencies, isCacheable, isMutation, personalData, isDryRun } = this;
    const cost = this.refuse(roots.length, shown.length);
    const isComplete = this.withheld.length === 0;
    return {
      cost,
      dryRunFields: isDryRun ? this.dryRunFields : null,
      isMutation: isMutation && roots.length > 0,
      personalData: personalData.length === 0 ? null : personalData,
      cacheDependencies: isCacheable && isComplete && !dependencies.has('request') ? dependencies : null,
      readsMirror: !isCacheable || dependencies.has('mirror'),
      isCompilable: this.isCompilable && isComplete && !isMutation && !isDryRun,
    };
  }

  private refuse(roots: number, shown: number): OperationCost {
    const { config, withheld } = this;
    const cost = this.cost.total;
    const excess =
      excessOf('aliases', this.aliases, config.limits.aliases) ?? (this.isDryRun ? null : cost.rejection);
    if (excess !== null) throw new ServiceError('QUERY_TOO_COMPLEX', excess);
    if (this.tokenNeeded !== null) throw this.tokenNeeded;
    if (roots > 0 && shown === 0) {
      const sentences = new Set(withheld.map(({ message }) => message));
      throw new ServiceError('INSUFFICIENT_SCOPE', [...sentences].join(' '), {
        requiredScopes: [...new Set(withheld.flatMap(({ details }) => details.requiredScopes ?? []))],
        grantedScopes: grantedScopes(this.principal),
      });
    }
    if (this.guardedInput !== null) throw this.guardedInput;
    return cost;
  }

  /** Returns the fields of a level, as they are in a response, and those of them that are shown. */
  private visit(selections: readonly SelectionNode[], place: Place) {
    const fields = place.types.flatMap((type) => this.collect(selections, type, place));
    const shown = fields.filter((field) => this.enter(field, place));
    if (this.config.accessLogDays > 0) this.personalData.push(...personalDataOf(shown, place.path));
    return { fields, shown };
  }

  private collect(
    selections: readonly SelectionNode[],
    parentType: GraphQLObjectType,
    { types, path }: Place,
  ): SelectedField[] {
    const set: SelectionSetNode = { kind: Kind.SELECTION_SET, selections };
    const count = (each: SelectionSetNode) => {
      this.count(each, parentType === types[0]);
    };
    const { variables, fragments, request } = this;
    const found = coerce('if', () =>
      collectFields(request.schema, fragments, variables, parentType, set, count),
    );
    return [...found].flatMap(([key, nodes]): SelectedField[] => {
      const { value: name = '' } = nodes[0]?.name ?? {};
      const field = parentType.getFields()[name];
      // Not every way to build an object accepts `__proto__`. Introspection needs no token, and the rules for documents limit it.
      if (key === '__proto__' || (field === undefined && name !== '__typename')) this.isCompilable = false;
      return field === undefined ? [] : [{ parentType, field, path: [...path, key], nodes }];
    });
  }

  private count({ selections }: SelectionSetNode, isFirstType: boolean): void {
    this.selections += selections.length;
    if (this.selections > MOST_SELECTIONS) {
      const message = `The fragments of this operation unfold to more than ${MOST_SELECTIONS} selections`;
      throw new ServiceError('QUERY_TOO_COMPLEX', message);
    }
    // graphql-jit decides wrongly about a directive on a fragment that is spread twice.
    const isConditional = selections.some(({ directives = [] }) => directives.length > 0);
    if (isConditional || this.selections > COMPILED_SELECTIONS) this.isCompilable = false;
    if (isFirstType) this.aliases += selections.filter((each) => 'alias' in each && each.alias).length;
  }

  /** Decides about a field and all below it. Returns whether it is shown. */
  private enter(selected: SelectedField, place: Place): boolean {
    const { parentType, field, path, nodes } = selected;
    const given = coerceArguments(selected, this.variables);
    const occurrences = this.cost.add(selected, given, place.occurrences);
    const access = field.extensions['access'] as Access;
    const refusal = accessRefusal(access, this.principal, `The field ${parentType.name}.${field.name}`);
    // Each place of a withheld field has an error.
    if (refusal !== null) this.cost.values += place.occurrences.values;
    if (refusal instanceof UnauthenticatedError) this.tokenNeeded ??= refusal;
    else if (refusal !== null && !place.isWithheld) this.withheld.push(refusal);
    if (path.length === 1) this.enterRoot(selected, given);
    for (const each of dependenciesOf(field) ?? []) this.dependencies.add(each);
    for (const { name, type } of field.args) this.visitInput(type, given[name]);
    const isWithheld = place.isWithheld || refusal !== null;
    const named = getNamedType(field.type);
    if (isCompositeType(named)) {
      const types = isObjectType(named) ? [named] : this.request.schema.getPossibleTypes(named);
      const selections = nodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
      this.visit(selections, { types, path, occurrences, isWithheld });
    }
    return !isWithheld;
  }

  private enterRoot({ field, nodes }: SelectedField, given: Variables): void {
    if (dependenciesOf(field) === undefined) this.isCacheable = false;
    if (field.name !== 'rateLimit') return;
    this.dryRunFields.push(...nodes);
    this.isDryRun ||= given['dryRun'] === true;
  }

  /**
   * Finds members that select or order by a field that the token cannot read, or change it: the result would show its values. A member
   * adds what it depends on. Null has no effect in a query, and removes a value in a mutation.
   */
  private visitInput(declared: GraphQLInputType, value: unknown): void {
    if (value === undefined || value === null || !isInputObjectType(getNamedType(declared))) return;
    const type = getNullableType(declared);
    if (isListType(type)) for (const each of [value].flat()) this.visitInput(type.ofType, each);
    if (!isInputObjectType(type)) return;
    for (const [name, given] of Object.entries(value as Variables)) {
      const member = type.getFields()[name];
      if (member === undefined || given === undefined || (given === null && !this.isMutation)) continue;
      this.enterMember(member, type.name);
      this.visitInput(member.type, given);
    }
  }

  private enterMember(member: GraphQLInputField, type: string): void {
    for (const each of dependenciesOf(member) ?? []) this.dependencies.add(each);
    const access = (member.extensions['access'] ?? { kind: 'inherited' }) as Access;
    const refusal = accessRefusal(access, this.principal, `The input ${type}.${member.name}`);
    if (refusal !== null) refusal.details.argument = member.name;
    this.guardedInput ??= refusal;
  }
}

function dependenciesOf({
  extensions,
}: Pick<GraphQLInputField, 'extensions'>): readonly CacheDependency[] | undefined {
  return extensions['dependsOn'] as readonly CacheDependency[] | undefined;
}

function coerceArguments({ field, nodes }: SelectedField, variables: Variables): Record<string, unknown> {
  const [node] = nodes;
  if (node === undefined || field.args.length === 0) return {};
  return coerce(field.name, () => getArgumentValues(field, node, variables));
}

/** A nullable variable with a default may be null here, which is rejected (§5.8.5). @throws BadUserInputError */
function coerce<Value>(name: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const [at] = error.nodes ?? [];
    throw new BadUserInputError(error.message, at?.kind === Kind.VARIABLE ? at.name.value : name);
  }
}
