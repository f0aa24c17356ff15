import { Injectable } from '@nestjs/common';
import { execute, type ExecutionResult, GraphQLError } from 'graphql';
import { ServiceUnavailableError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import type { ValidatedOperation } from '../analysis/validated-operation.js';
import type { RequestContext } from '../http/request-context.js';
import { type Withheld, withheldError } from '../analysis/scope-rule.js';

/** Attempts to read one revision without a transaction. */
const MAX_ATTEMPTS = 3;

/** Executes validated operations. */
@Injectable()
export class Executor {
  constructor(private readonly database: Database) {}

  execute(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    return operation.isMutation
      ? this.executeInTransaction(operation, context)
      : this.query(operation, context);
  }

  /**
   * Executes a query. A result that was read from two revisions is discarded and read again: statements
   * without a transaction are faster, and a new revision between them is rare. After the last attempt, the
   * query runs in one transaction, which sees one revision.
   */
  private async query(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const result = await this.executeOnce(operation, context);
      if (context.revisions.size < 2) return result;
      context.reset();
    }
    return this.executeInTransaction(operation, context);
  }

  /**
   * Executes the operation in one transaction, which is rolled back. Mutations run one after another, each
   * with its selection, and each sees the changes of those before it.
   */
  private async executeInTransaction(
    operation: ValidatedOperation,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    try {
      return await this.database.previewTransaction((transaction) => {
        context.startPreview(transaction);
        return this.executeOnce(operation, context);
      });
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
 * graphql-js reports only the errors that occur before it discards a part of the result; compiled operations
 * report all of them. graphql-js therefore executes such an operation again, unless the database could not be
 * reached.
 */
function hasSeveralErrors({ errors = [] }: ExecutionResult): boolean {
  return (
    errors.length > 1 && !errors.some(({ originalError }) => originalError instanceof ServiceUnavailableError)
  );
}

function errorOf(withheld: Withheld, { withheldAt }: RequestContext): GraphQLError {
  const error = withheldError(withheld);
  const path = withheldAt.get(withheld.selected.key);
  return new GraphQLError(error.message, {
    nodes: withheld.selected.nodes,
    originalError: error,
    ...(path === undefined ? {} : { path }),
  });
}
