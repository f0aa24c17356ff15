import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { execute, type ExecutionResult } from 'graphql';
import { Compiler } from '../../../src/graphql/execution/operations.js';
import type { CompiledQuery } from '../../../src/graphql/http/request-context.js';

/** Number of attempts: a minute or a revision can start between the two executions. */
const ATTEMPTS = 3;

/**
 * Makes a service execute each operation that can be compiled twice: compiled, and by graphql-js. So all queries of a suite also
 * test that both responses are identical.
 */
export class ComparedExecutions {
  readonly differences: string[] = [];

  constructor(app: NestFastifyApplication) {
    const compiler = app.get(Compiler);
    compiler.worthwhileAfter = 0;
    const compile = compiler.compile.bind(compiler);
    compiler.compile = (request) => {
      const compiled = compile(request);
      if (compiled === null) return null;
      const { schema, document, definition } = request;
      const operationName = definition.name?.value;
      return this.inBothWays(compiled, (contextValue, variableValues) =>
        execute({ schema, document, operationName, contextValue, variableValues }),
      );
    };
  }

  /** @throws Error if the two responses differ */
  check(): void {
    if (this.differences.length > 0) throw new Error(this.differences.join('\n\n'));
  }

  private inBothWays(
    compiled: CompiledQuery,
    interpret: (
      ...rest: [Parameters<CompiledQuery>[0], Parameters<CompiledQuery>[2]]
    ) => ReturnType<typeof execute>,
  ): CompiledQuery {
    return async (context, coerced, sent) => {
      for (let attempt = 1; ; attempt++) {
        const result = await compiled(context, coerced, sent);
        context.reset();
        // Of the errors of a part that it gives up, graphql-js reports only the first ones.
        const isSame = (result.errors ?? []).length < 2;
        const answer = textOf(result, isSame);
        const expected = textOf(await interpret(context, sent), isSame);
        if (answer === expected) return result;
        context.reset();
        if (attempt === ATTEMPTS) {
          this.differences.push(`Compiled: ${answer}\nBy graphql-js: ${expected}`);
          return result;
        }
      }
    };
  }
}

/** Everything of a response that a client can observe. */
function textOf({ data, errors }: ExecutionResult, withErrors: boolean): string {
  const all = withErrors ? errors : undefined;
  return JSON.stringify({
    data,
    errors: all?.map((error) => ({ ...error.toJSON(), of: error.originalError?.constructor.name })),
  });
}
