import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isAbstractType,
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
import { type Access, decideAccess, scopesOf } from '../../auth/access.js';
import { scopeNeeded, UnauthenticatedError } from '../../auth/authentication.error.js';
import { grantedScopes, type Principal, type Scope } from '../../auth/principal.js';
import { BadUserInputError, ServiceError } from '../../common/errors.js';
import type { Config } from '../../config/config.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import {
  coerceArguments,
  CostCount,
  excessOf,
  type Occurrences,
  type OperationCost,
  type SelectedField,
} from './operation-cost.js';
import { PersonalDataSearch, type PersonalDataSelection } from './personal-data-selection.js';

/** Selections that a walk visits, for each type that they may be of. It is far above every configurable limit, and quick to reach. */
const MOST_SELECTIONS = 20_000;
/** Maximum number of selections of a compiled operation. Code size and compile time grow with it. */
const COMPILED_SELECTIONS = 500;

export type Variables = Readonly<Record<string, unknown>>;

export interface OperationRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly definition: OperationDefinitionNode;
  /** As sent. */
  readonly variables: Variables;
}

/** The decision about an operation, for a token with certain scopes. */
export interface PolicyDecision {
  readonly cost: OperationCost;
  /** Whether the token may read all of its fields. */
  readonly isComplete: boolean;
  /** The fields `rateLimit(dryRun: true)`, if nothing else is executed. */
  readonly dryRunFields: readonly FieldNode[] | null;
  /** Whether it is a mutation that runs a resolver. Its changes stay within its own preview. */
  readonly isMutation: boolean;
  /** The personal data that it selects; null if there is none, or if the access log is off. */
  readonly personalData: PersonalDataSelection | null;
  /** What its response depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  /** Whether any part of it reads the mirror. */
  readonly readsMirror: boolean;
  /** What `@skip` and `@include` decide by, equal for equal selections; null if the operation cannot be compiled. */
  readonly conditions: string | null;
}

/**
 * Decides by limits and scopes, in one walk over what the operation selects with these variables. Fragments, aliases and directives
 * are resolved, so no spelling of a field bypasses it.
 * @param variables coerced
 * @throws ServiceError when the operation must not run at all; UnauthenticatedError if a field requires a token and there is none
 */
export function evaluatePolicy(
  request: OperationRequest,
  variables: Variables,
  principal: Principal | null,
  { limits, accessLogDays }: Pick<Config, 'limits' | 'accessLogDays'>,
): PolicyDecision {
  const walk = new Walk(request, variables, principal, limits, accessLogDays > 0);
  return walk.decide(request.definition);
}

/** Where a selection set is. */
interface Place {
  readonly types: readonly GraphQLObjectType[];
  readonly path: readonly string[];
  readonly occurrences: Occurrences;
  readonly isWithheld: boolean;
  /** Whether the arguments of its fields are changes, in which null removes a value. */
  readonly nullRemoves: boolean;
}

class Walk {
  private readonly cost: CostCount;
  private readonly personalData: PersonalDataSearch | null;
  private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  private readonly withheld: { readonly what: string; readonly scopes: readonly Scope[] }[] = [];
  private readonly conditions = new Set<string>();
  private readonly dependencies = new Set<CacheDependency>();
  private readonly schemaNames = new Set<string>();
  private readonly dryRunFields: FieldNode[] = [];
  private tokenNeeded: UnauthenticatedError | null = null;
  private guardedInput: ServiceError | null = null;
  private selections = 0;
  private aliases = 0;
  private directives = 0;
  private isDryRun = false;
  private isCacheable = true;
  private isCompilable = true;

  constructor(
    private readonly request: OperationRequest,
    private readonly variables: Variables,
    private readonly principal: Principal | null,
    private readonly limits: Config['limits'],
    findsPersonalData: boolean,
  ) {
    this.cost = new CostCount(limits);
    this.personalData = findsPersonalData ? new PersonalDataSearch() : null;
    this.fragments = new Map(
      request.document.definitions.flatMap((node) =>
        node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [],
      ),
    );
  }

  decide({ operation, selectionSet }: OperationDefinitionNode): PolicyDecision {
    const rootType = this.request.schema.getRootType(operation);
    if (!rootType) {
      // The validation rules find no type against which to check the fields of such an operation, and accept it.
      const message = `The schema has no root type for a ${operation}`;
      throw new ServiceError('GRAPHQL_VALIDATION_FAILED', message);
    }
    const isMutation = operation === OperationTypeNode.MUTATION;
    const { root: occurrences } = this.cost;
    const place = { types: [rootType], path: [], occurrences, isWithheld: false, nullRemoves: isMutation };
    const roots = this.visit([selectionSet], place);
    const { dependencies, isCacheable } = this;
    const cost = this.refuse(roots);
    const isComplete = this.withheld.length === 0;
    if (this.isDryRun) this.isCompilable = false;
    return {
      cost,
      isComplete,
      dryRunFields: this.isDryRun ? this.dryRunFields : null,
      isMutation: isMutation && roots.some(({ field }) => field.resolve !== undefined),
      personalData: this.personalData?.found ?? null,
      cacheDependencies: isCacheable && isComplete && !dependencies.has('request') ? dependencies : null,
      readsMirror: !isCacheable || dependencies.has('mirror'),
      conditions: this.isCompilable && isComplete && !isMutation ? [...this.conditions].sort().join() : null,
    };
  }

  private refuse(roots: readonly SelectedField[]): OperationCost {
    const { limits, withheld } = this;
    const repetition =
      excessOf('aliases', this.aliases, limits.aliases) ??
      excessOf('directives', this.directives, limits.directives) ??
      excessOf('root fields', roots.length, limits.rootFields);
    if (repetition !== null) throw new ServiceError('QUERY_TOO_COMPLEX', repetition);
    const cost = this.cost.total;
    if (cost.rejection !== null && !this.isDryRun)
      throw new ServiceError('QUERY_TOO_COMPLEX', cost.rejection);
    if (this.tokenNeeded !== null) throw this.tokenNeeded;
    const isRefused = ({ field }: SelectedField) => this.decisionOf(field) !== 'granted';
    if (roots.length > 0 && roots.every(isRefused)) {
      const sentences = new Set(withheld.map(({ what, scopes }) => scopeNeeded(what, scopes)));
      throw new ServiceError('INSUFFICIENT_SCOPE', [...sentences].join(' '), {
        requiredScopes: [...new Set(withheld.flatMap(({ scopes }) => scopes))],
        grantedScopes: grantedScopes(this.principal),
      });
    }
    if (this.guardedInput !== null) throw this.guardedInput;
    return cost;
  }

  /** @returns the fields of a level */
  private visit(sets: readonly (SelectionSetNode | undefined)[], place: Place): SelectedField[] {
    const found = new Map<string, SelectedField>();
    for (const set of sets) if (set !== undefined) this.collect(set, place.types, place.path, found);
    const fields = [...found.values()];
    const shown = fields.filter((field) => this.enter(field, place));
    this.personalData?.addLevel(shown, place.path, place.types.length > 1);
    return fields;
  }

  /** Collects the fields of a selection set, as they are in a response: once for each type and response key. */
  private collect(
    { selections }: SelectionSetNode,
    types: readonly GraphQLObjectType[],
    path: readonly string[],
    into: Map<string, SelectedField>,
  ): void {
    for (const selection of selections) {
      this.count(types.length);
      if (!this.isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        if (selection.alias !== undefined) this.aliases++;
        for (const type of types) this.add(selection, type, path, into);
        continue;
      }
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments.get(selection.name.value) : selection;
      if (fragment === undefined) continue;
      const condition = fragment.typeCondition?.name.value;
      this.collect(fragment.selectionSet, this.narrow(types, condition), path, into);
    }
  }

  private count(types: number): void {
    this.selections += Math.max(1, types);
    if (this.selections > MOST_SELECTIONS)
      throw new ServiceError(
        'QUERY_TOO_COMPLEX',
        `The fragments of this operation unfold to more than ${MOST_SELECTIONS} selections`,
      );
  }

  /** Whether `@skip` and `@include` keep a selection. Throws BadUserInputError if a variable is null. */
  private isIncluded({ directives = [] }: SelectionNode): boolean {
    this.directives += directives.length;
    return directives.every((directive) => {
      const value = directive.arguments?.[0]?.value;
      if (value?.kind === Kind.VARIABLE) {
        const { value: name } = value.name;
        const given = this.variables[name];
        if (typeof given !== 'boolean') throw new BadUserInputError(`$${name} must be true or false`, name);
        this.conditions.add(`${name}:${given}`);
      }
      return keeps(directive, this.variables);
    });
  }

  private add(
    node: FieldNode,
    type: GraphQLObjectType,
    path: readonly string[],
    into: Map<string, SelectedField>,
  ): void {
    const { value: name } = node.name;
    const { value: key } = node.alias ?? node.name;
    // Not every way to build an object accepts `__proto__`.
    if (this.selections > COMPILED_SELECTIONS || key === '__proto__') this.isCompilable = false;
    const field = type.getFields()[name];
    // Introspection fields need no token.
    if (field === undefined) {
      if (name !== '__typename') this.introspect(node, key);
      return;
    }
    const known = into.get(`${type.name}.${key}`);
    if (known === undefined)
      into.set(`${type.name}.${key}`, { parentType: type, field, path: [...path, key], nodes: [node] });
    else known.nodes.push(node);
  }

  /**
   * Rejects aliases that repeat the schema in a response, which the limit of nodes does not count: `__schema` has
   * one name, and fields below introspection fields have no aliases. Throws ServiceError QUERY_TOO_COMPLEX.
   */
  private introspect({ name, selectionSet }: FieldNode, key: string): void {
    this.isCompilable = false;
    if (name.value === '__schema') this.schemaNames.add(key);
    if (this.schemaNames.size > 1 || (selectionSet !== undefined && this.hasAlias(selectionSet)))
      throw new ServiceError(
        'QUERY_TOO_COMPLEX',
        'This operation has too many aliases: __schema has one name, and no field below it or __type has an alias',
      );
  }

  private hasAlias({ selections }: SelectionSetNode): boolean {
    return selections.some((selection) => {
      this.count(1);
      if (selection.kind === Kind.FIELD && selection.alias !== undefined) return true;
      const { selectionSet } =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? (this.fragments.get(selection.name.value) ?? {})
          : selection;
      return selectionSet !== undefined && this.hasAlias(selectionSet);
    });
  }

  /** Decides about a field and all below it. Returns whether it is shown. */
  private enter(selected: SelectedField, place: Place): boolean {
    const { field, path, nodes } = selected;
    const given = coerceArguments(selected, this.variables);
    const occurrences = this.cost.add(selected, given, place.occurrences);
    const decision = this.decisionOf(field);
    // Each place of a withheld field has an error.
    if (decision === 'scope needed') occurrences.page.values += place.occurrences.values;
    if (!place.isWithheld && decision !== 'granted') this.withhold(selected, decision === 'token needed');
    if (path.length === 1) this.enterRoot(selected, given);
    for (const each of dependenciesOf(field) ?? []) this.dependencies.add(each);
    for (const { name, type } of field.args) this.visitInput(type, given[name], place.nullRemoves);
    const isWithheld = place.isWithheld || decision !== 'granted';
    const named = getNamedType(field.type);
    if (isCompositeType(named)) {
      const types = isObjectType(named) ? [named] : this.request.schema.getPossibleTypes(named);
      const sets = nodes.map(({ selectionSet }) => selectionSet);
      this.visit(sets, { types, path, occurrences, isWithheld, nullRemoves: false });
    }
    return !isWithheld;
  }

  private enterRoot({ field, nodes }: SelectedField, given: Record<string, unknown>): void {
    if (dependenciesOf(field) === undefined) this.isCacheable = false;
    if (field.name !== 'rateLimit') return;
    this.dryRunFields.push(...nodes);
    if (given['dryRun'] === true) this.isDryRun = true;
  }

  private decisionOf({ extensions }: SelectedField['field']): ReturnType<typeof decideAccess> {
    return decideAccess(extensions['access'] as Access, this.principal);
  }

  private withhold({ parentType, field }: SelectedField, needsToken: boolean): void {
    const scopes = scopesOf(field.extensions['access'] as Access);
    const what = `The field ${parentType.name}.${field.name}`;
    if (needsToken) this.tokenNeeded ??= UnauthenticatedError.tokenNeeded(what, scopes);
    else this.withheld.push({ what, scopes });
  }

  /**
   * Finds members that select or order by a field that the token cannot read, or change it: the result would show its values. A member
   * adds what it depends on.
   */
  private visitInput(declared: GraphQLInputType, value: unknown, nullRemoves: boolean): void {
    if (value === undefined || value === null || !isInputObjectType(getNamedType(declared))) return;
    const type = getNullableType(declared);
    if (isListType(type)) for (const each of [value].flat()) this.visitInput(type.ofType, each, nullRemoves);
    if (!isInputObjectType(type)) return;
    for (const [name, given] of Object.entries(value as Variables)) {
      const member = type.getFields()[name];
      if (member === undefined || given === undefined || (given === null && !nullRemoves)) continue;
      this.enterMember(member, type.name);
      this.visitInput(member.type, given, nullRemoves);
    }
  }

  private enterMember(member: GraphQLInputField, type: string): void {
    for (const each of dependenciesOf(member) ?? []) this.dependencies.add(each);
    const access = member.extensions['access'] as Access | undefined;
    if (access === undefined || decideAccess(access, this.principal) === 'granted') return;
    const requiredScopes = scopesOf(access);
    const message = scopeNeeded(`The input ${type}.${member.name}`, requiredScopes);
    const details = { argument: member.name, requiredScopes, grantedScopes: grantedScopes(this.principal) };
    this.guardedInput ??= new ServiceError('INSUFFICIENT_SCOPE', message, details);
  }

  private narrow(
    types: readonly GraphQLObjectType[],
    condition: string | undefined,
  ): readonly GraphQLObjectType[] {
    if (condition === undefined) return types;
    const { schema } = this.request;
    const named = schema.getType(condition);
    return types.filter((type) => type === named || (isAbstractType(named) && schema.isSubType(named, type)));
  }
}

/** What a field or a member of an input declares by @CachePolicy. */
function dependenciesOf({
  extensions,
}: {
  readonly extensions: Readonly<Record<string, unknown>>;
}): readonly CacheDependency[] | undefined {
  return extensions['dependsOn'] as readonly CacheDependency[] | undefined;
}

/** Whether one `@skip` or `@include` keeps its selection. */
export function keeps({ name, arguments: [argument] = [] }: DirectiveNode, variables: Variables): boolean {
  const value = argument?.value;
  const given = value?.kind === Kind.VARIABLE ? variables[value.name.value] : value;
  const isTrue = typeof given === 'boolean' ? given : value?.kind === Kind.BOOLEAN && value.value;
  return isTrue === (name.value === 'include');
}
