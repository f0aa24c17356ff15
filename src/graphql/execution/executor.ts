import { Injectable } from '@nestjs/common';
import { execute, type ExecutionResult, GraphQLError } from 'graphql';
import { ServiceUnavailableError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import type { Admitted } from '../analysis/operation-validator.js';
import type { RequestContext } from '../http/request-context.js';
import { type Withheld, withheldError } from '../analysis/scope-rule.js';

/** How often an answer is begun again because a revision was applied meanwhile. */
const ATTEMPTS = 3;

/** Variables and operation, as they were sent. */
export interface Execution {
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly operationName: string | undefined;
}

/** Executes admitted operations. */
@Injectable()
export class Executor {
  constructor(private readonly database: Database) {}

  /** The answer, all of it from one revision. */
  async execute(admitted: Admitted, execution: Execution, context: RequestContext): Promise<ExecutionResult> {
    return admitted.isMutation
      ? this.preview(admitted, execution, context)
      : this.answer(admitted, execution, context);
  }

  /** One that was read across the moment in which a revision was applied is thrown away and read again. */
  private async answer(
    admitted: Admitted,
    execution: Execution,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    for (let attempt = 1; ; attempt++) {
      const result = await this.executeOnce(admitted, execution, context);
      // Revisions seldom come so fast that this does not help, and that would be no reason to answer nothing.
      if (context.revisions.size < 2 || attempt === ATTEMPTS) return result;
      context.startAnew();
    }
  }

  /** Mutations run one after another, each with all that is below it, over one overlay: they build on one another. */
  private async preview(
    admitted: Admitted,
    execution: Execution,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    try {
      return await this.database.overlay((overlay) => {
        context.startPreview(overlay);
        return this.executeOnce(admitted, execution, context);
      });
    } catch (error) {
      // It came to nothing as a whole.
      const originalError =
        error instanceof Error ? error : new Error('The preview failed in an unknown way');
      return { data: null, errors: [new GraphQLError(originalError.message, { originalError })] };
    }
  }

  private async executeOnce(
    admitted: Admitted,
    execution: Execution,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    const { data, errors = [] } = await this.run(admitted, execution, context);
    const all = [...errors, ...admitted.withheld.map((each) => errorOf(each, context))];
    return { data: data ?? null, ...(all.length > 0 ? { errors: all } : {}) };
  }

  private async run(
    { compiled, schema, document, variables: coerced }: Admitted,
    { variables, operationName }: Execution,
    contextValue: RequestContext,
  ): Promise<ExecutionResult> {
    if (compiled !== null) {
      const result = await compiled(contextValue, coerced, variables ?? {});
      if (!isDoubtful(result)) return result;
      contextValue.startAnew();
    }
    return execute({ schema, document, contextValue, variableValues: variables, operationName });
  }
}

/**
 * Of several errors graphql-js tells those that it met before it gave up a part of the answer, and compiled operations
 * tell all: such an answer is made by graphql-js. Not while the database is away: that would only be waiting for it twice.
 */
function isDoubtful({ errors = [] }: ExecutionResult): boolean {
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
