import { Inject, Injectable } from '@nestjs/common';
import {
  execute,
  type ExecutionResult,
  GraphQLError,
  GraphQLScalarType,
  type DocumentNode,
  GraphQLSchema,
  OperationTypeNode,
} from 'graphql';
import { LARGEST_PAGE } from '../analysis/connection-arguments.js';
import { type PolicyDecision, type Withheld, withheldError } from '../analysis/operation-policy.js';
import type { RequestContext } from '../http/request-context.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { ServiceError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import type { DeprecatedUses } from '../schema/deprecation.js';
import { refuseLargeData } from './response-size.js';
import { variablesInside, withVariablesOf } from './coerced-variables.js';
import { PreviewShares } from './preview-shares.js';
import { decideConditions, type Operation, type Variables } from '../analysis/operation.js';

export interface ValidatedOperation extends Omit<PolicyDecision, 'dryRunFields'> {
  readonly document: DocumentNode;
  /** The schema restricted to the scopes of the token. */
  readonly schema: GraphQLSchema;
  /** What its result depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  /** The deprecated elements that it uses; null if there are none. */
  readonly deprecated: DeprecatedUses | null;
  readonly variables: Variables;
  /** Null if graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
}

/** Attempts to read one revision without a transaction. */
const MAX_ATTEMPTS = 3;

@Injectable()
export class Executor {
  /** Whether fields have audiences. */
  private readonly hasAudiences: boolean;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly shares: PreviewShares,
  ) {
    const { mapping } = config.directory;
    const fields = [...mapping.users.fields, ...mapping.groups.fields];
    this.hasAudiences = fields.some(({ visibleTo }) => visibleTo !== undefined);
  }

  /** Throws ServiceError QUERY_TOO_COMPLEX, if the response would be too long. */
  async execute(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    const result = await (operation.isMutation
      ? this.shares.run(context, () => this.executeInTransaction(operation, context))
      : this.query(operation, context));
    if (operation.cost.nodeCount > LARGEST_PAGE) refuseLargeData(result.data, this.config.limits);
    return result;
  }

  /**
   * Executes a query, again if it has read from two revisions: that is rare, and statements without a transaction
   * are faster. After the last attempt it runs in one transaction.
   */
  private async query(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const result = await this.executeOnce(operation, context);
      if (context.revisions.size < 2) return result;
      context.reset();
    }
    return this.executeInTransaction(operation, context);
  }

  /** Executes the operation in one transaction, which is rolled back. Each mutation sees those before it. */
  private async executeInTransaction(
    operation: ValidatedOperation,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    try {
      const work = (transaction: PreviewTransaction) => {
        context.startPreview(transaction);
        return this.executeOnce(operation, context);
      };
      return await this.database.previewTransaction(work, context.viewer, this.hasAudiences);
    } catch (error) {
      const originalError =
        error instanceof Error ? error : new Error('The transaction failed for an unknown reason');
      return { data: null, errors: [new GraphQLError(originalError.message, { originalError })] };
    }
  }

  private async executeOnce(
    operation: ValidatedOperation,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    const { data, errors = [] } = await this.run(operation, context);
    const all = [...errors, ...operation.withheld.map((each) => errorOf(each, context))];
    return { data: data ?? null, ...(all.length > 0 ? { errors: all } : {}) };
  }

  private async run(
    { compiled, schema, document, variables: coerced }: ValidatedOperation,
    contextValue: RequestContext,
  ): Promise<ExecutionResult> {
    const { variables, definition } = contextValue.parsed;
    if (compiled !== null) {
      const result = await compiled(contextValue, coerced, variables);
      if (!hasSeveralErrors(result)) return result;
      contextValue.reset();
    }
    const operationName = definition.name?.value;
    return execute({ schema, document, contextValue, variableValues: variables, operationName });
  }
}

/**
 * graphql-js reports only the errors before it discards a part of the result, and compiled operations all of
 * them. graphql-js therefore repeats such an operation, unless the database could not be reached in time.
 */
function hasSeveralErrors({ errors = [] }: ExecutionResult): boolean {
  const codes = errors.map(({ originalError: error }) => (error instanceof ServiceError ? error.code : ''));
  return errors.length > 1 && !codes.includes('SERVICE_UNAVAILABLE') && !codes.includes('TIMEOUT');
}

function errorOf(withheld: Withheld, { withheldAt }: RequestContext): GraphQLError {
  const error = withheldError(withheld);
  const path = withheldAt.get(withheld.selected.key);
  return new GraphQLError(error.message, {
    nodes: withheld.selected.fieldNodes,
    originalError: error,
    ...(path === undefined ? {} : { path }),
  });
}

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
    const compiled = compileQuery(
      this.extend(schema),
      withVariablesOf(Coerced.name, document),
      operationName,
      {
        // Values come from models with declared types, so built-in scalars need no serialization. Custom
        // scalars are still serialized.
        disableLeafSerialization: true,
        disablingCapturingStackErrors: true,
      },
    );
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
