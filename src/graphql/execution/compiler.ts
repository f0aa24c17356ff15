import { Injectable } from '@nestjs/common';
import {
  type ASTNode,
  type DocumentNode,
  execute,
  type ExecutionResult,
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  OperationTypeNode,
  visit,
} from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { decideConditions, type Operation, type Variables } from '../analysis/operation.js';
import type { RequestContext } from '../http/request-context.js';

/** A compiled operation with the results of graphql-js. It takes the variables coerced and as sent. */
export type CompiledQuery = (
  context: RequestContext,
  coerced: Variables,
  sent: Variables,
) => ExecutionResult | Promise<ExecutionResult>;

type JitQuery = (root: undefined, context: RequestContext, variables: Variables) => ReturnType<CompiledQuery>;

/** Maximum number of fields of a compiled operation. Code size and compile time grow with it. */
const MOST_FIELDS = 500;
/** Compiled functions of one operation, one for each combination of its `@skip` and `@include`. */
const MOST_VARIANTS = 8;

/** The type of all variables for graphql-jit, which coerces differently. graphql-js coerces the values. */
const Coerced = new GraphQLScalarType({ name: 'Coerced', parseValue: (value) => value });

interface Variant {
  times: number;
  query: CompiledQuery | null;
}

/** Compiles operations with graphql-jit (docs/adr/0019), if the results are those of graphql-js. */
@Injectable()
export class Compiler {
  /** Executions before an operation is compiled. Most operations that are sent once never repeat. */
  worthwhileAfter = 1;
  /** An operation lives as long as its cached document. */
  private readonly variants = new WeakMap<Operation, Map<string, Variant>>();
  private readonly extended = new WeakMap<GraphQLSchema, GraphQLSchema>();

  /** The compiled function, from the second request on; null if graphql-js has to execute the operation. */
  find(schema: GraphQLSchema, operation: Operation, variables: Variables): CompiledQuery | null {
    if (!isCompilable(operation)) return null;
    const variant = this.variantOf(operation, variables);
    if (variant === null) return null;
    if (variant.times++ === this.worthwhileAfter) variant.query = this.compile(schema, operation, variables);
    return variant.query;
  }

  /** Compiles an operation without waiting for a second request. */
  compile(schema: GraphQLSchema, operation: Operation, variables: Variables): CompiledQuery | null {
    const { definition } = operation;
    const document = decideConditions(operation, variables);
    if (document === null) return null;
    const operationName = definition.name?.value;
    const compiled = compileQuery(this.extend(schema), withCoercedVariables(document), operationName, {
      // Values come from models with declared types, so built-in scalars need no serialization. Custom
      // scalars are still serialized.
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    if (!isCompiledQuery(compiled)) return null;
    const query = compiled.query as JitQuery;
    const members = variablesInside(document);
    // graphql-js omits an input field whose variable has no value; graphql-jit sets it to null.
    return (contextValue, coerced, sent) =>
      members.every((name) => name in coerced)
        ? query(undefined, contextValue, coerced)
        : execute({ schema, document, operationName, contextValue, variableValues: sent });
  }

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

/** Introspection is too rare to compile, and mutations depend on the order of execution. */
function isCompilable({ definition, fieldCount, introspects, hasPrototypeKey }: Operation): boolean {
  return (
    definition.operation === OperationTypeNode.QUERY &&
    fieldCount <= MOST_FIELDS &&
    !introspects &&
    !hasPrototypeKey
  );
}

function withCoercedVariables(document: DocumentNode): DocumentNode {
  const type = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: Coerced.name } } as const;
  return visit(document, {
    VariableDefinition: ({ kind, variable, loc }) => ({ kind, variable, type, loc }),
  });
}

function variablesInside(document: DocumentNode): string[] {
  const found = new Set<string>();
  const find = (node: ASTNode) => {
    visit(node, { Variable: ({ name }) => void found.add(name.value) });
  };
  visit(document, { ObjectValue: find, ListValue: find });
  return [...found];
}
