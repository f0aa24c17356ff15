import { Inject, Injectable } from '@nestjs/common';
import { execute, type ExecutionResult, GraphQLError, type DocumentNode, type GraphQLSchema } from 'graphql';
import { LARGEST_PAGE } from '../analysis/connection-arguments.js';
import { type PolicyDecision, type Withheld, withheldError } from '../analysis/operation-policy.js';
import type { RequestContext } from '../http/request-context.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { ServiceError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import type { DeprecatedUses } from '../schema/deprecation.js';
import { refuseLargeData } from './response-size.js';
import type { CompiledQuery } from './compiler.js';
import { PreviewShares } from './preview-shares.js';
import type { Variables } from '../analysis/operation.js';

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
