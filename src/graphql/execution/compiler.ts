import { Injectable } from '@nestjs/common';
import {
  type DirectiveNode,
  type DocumentNode,
  execute,
  type ExecutionResult,
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  type ListValueNode,
  type ObjectValueNode,
  OperationTypeNode,
  separateOperations,
  visit,
} from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { BadUserInputError } from '../../common/errors.js';
import { conditionsOf, holds, type Operation, type Variables } from '../analysis/operation.js';
import type { RequestContext } from '../http/request-context.js';

/** An operation as a function of its own, which answers as graphql-js does: with its variables coerced, and as sent. */
export type CompiledQuery = (
  context: RequestContext,
  coerced: Variables,
  sent: Variables,
) => ExecutionResult | Promise<ExecutionResult>;

/** What graphql-jit makes of an operation. */
type JitQuery = (root: undefined, context: RequestContext, variables: Variables) => ReturnType<CompiledQuery>;

/** Fields up to which an operation is compiled: the code grows with them, and so does the time that it takes. */
const MOST_FIELDS = 500;
/** Functions of one operation: one for each way in which its `@skip` and `@include` can be decided. */
const MOST_VARIANTS = 8;

/**
 * What graphql-jit takes all variables for: it would fill in no defaults of members, and give the default of a date as
 * text, so that graphql-js coerces them.
 */
const Coerced = new GraphQLScalarType({ name: 'Coerced', parseValue: (value) => value });

interface Variant {
  times: number;
  query: CompiledQuery | null;
}

/**
 * Turns operations into functions by graphql-jit, which saves most of what it costs to execute one (docs/adr/0019).
 * Where it would answer otherwise than graphql-js, or not at all, there is no function.
 */
@Injectable()
export class Compiler {
  /** Executions after which an operation is compiled: most of those that are sent once never come again. */
  worthwhileAfter = 1;
  /** An operation is kept for as long as its document is. */
  private readonly variants = new WeakMap<Operation, Map<string, Variant>>();
  private readonly extended = new WeakMap<GraphQLSchema, GraphQLSchema>();

  /** The function for an operation, once it has been asked for before; null: graphql-js is to execute it. */
  find(schema: GraphQLSchema, operation: Operation, variables: Variables): CompiledQuery | null {
    if (!isCompilable(operation)) return null;
    const variant = this.variantOf(operation, variables);
    if (variant === null) return null;
    if (variant.times++ === this.worthwhileAfter) variant.query = this.compile(schema, operation, variables);
    return variant.query;
  }

  /** As above, without waiting for a second time. */
  compile(schema: GraphQLSchema, operation: Operation, variables: Variables): CompiledQuery | null {
    const { definition } = operation;
    const document = decideConditions(operation, variables);
    if (document === null) return null;
    const operationName = definition.name?.value;
    const compiled = compileQuery(this.extend(schema), withCoercedVariables(document), operationName, {
      // Values come from our own models, whose types say what they are; scalars of our own are still serialised.
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    if (!isCompiledQuery(compiled)) return null;
    const query = compiled.query as JitQuery;
    const members = variablesInside(document);
    // A member without a value is left out by graphql-js, and null by graphql-jit.
    return (contextValue, coerced, sent) =>
      members.every((name) => name in coerced)
        ? query(undefined, contextValue, coerced)
        : execute({ schema, document, operationName, contextValue, variableValues: sent });
  }

  /** The schema with a type for variables that are coerced already. */
  private extend(schema: GraphQLSchema): GraphQLSchema {
    let extended = this.extended.get(schema);
    if (extended === undefined) {
      const { types, ...config } = schema.toConfig();
      extended = new GraphQLSchema({ ...config, types: [...types, Coerced] });
      this.extended.set(schema, extended);
    }
    return extended;
  }

  private variantOf(operation: Operation, variables: Variables): Variant | null {
    let variants = this.variants.get(operation);
    if (variants === undefined) {
      variants = new Map();
      this.variants.set(operation, variants);
    }
    const name = operation.conditionVariables.map((each) => String(variables[each])).join();
    let variant = variants.get(name);
    if (variant === undefined) {
      if (variants.size === MOST_VARIANTS) return null;
      variant = { times: 0, query: null };
      variants.set(name, variant);
    }
    return variant;
  }
}

/** Introspection is asked for too seldom, and mutations depend on the order in which things happen. */
function isCompilable({ definition, fieldCount, introspects, hasPrototypeKey }: Operation): boolean {
  return (
    definition.operation === OperationTypeNode.QUERY &&
    fieldCount <= MOST_FIELDS &&
    !introspects &&
    !hasPrototypeKey
  );
}

/**
 * The operation alone, with its `@skip` and `@include` carried out: graphql-jit decides them field by field, which
 * comes out differently where a fragment is spread twice.
 * @returns null where one hangs on a variable that is null: graphql-js finds out whether it is reached at all
 */
function decideConditions({ definition, document }: Operation, variables: Variables): DocumentNode | null {
  const decide = (node: { readonly directives?: readonly DirectiveNode[] }) => {
    if ((node.directives ?? []).length === 0) return undefined;
    return conditionsOf(node).every((condition) => holds(condition, variables))
      ? { ...node, directives: [] }
      : null;
  };
  // Fragments of other operations may hang on variables that this one does not have.
  const alone = separateOperations(document)[definition.name?.value ?? ''] ?? document;
  try {
    return visit(alone, { Field: decide, InlineFragment: decide, FragmentSpread: decide });
  } catch (error) {
    if (error instanceof BadUserInputError) return null;
    throw error;
  }
}

function withCoercedVariables(document: DocumentNode): DocumentNode {
  const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: Coerced.name } } as const;
  return visit(document, {
    VariableDefinition: ({ kind, variable, loc }) => ({ kind, variable, type, loc }),
  });
}

/** The variables that stand inside of objects and lists. */
function variablesInside(document: DocumentNode): string[] {
  const found = new Set<string>();
  const find = (node: ObjectValueNode | ListValueNode) => {
    visit(node, { Variable: ({ name }) => void found.add(name.value) });
  };
  visit(document, { ObjectValue: find, ListValue: find });
  return [...found];
}
