import { Inject, Injectable } from '@nestjs/common';
import {
  type ASTNode,
  type DocumentNode,
  execute,
  type ExecutionResult,
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import type { RequestContext, CompiledQuery, ValidatedOperation } from '../http/request-context.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { ServiceError } from '../../common/errors.js';
import { Database } from '../../database/database.js';
import type { PreviewTransaction } from '../../database/statements/preview-transaction.js';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import type { OperationRequest, Variables } from '../analysis/operation-policy.js';

/** Maximum characters of a response for each node that an operation may request. Usual nodes have two fifths. */
const CHARACTERS_PER_NODE = 1000;
/** The limit where few nodes are allowed: introspection has several hundred thousand. */
const MIN_CHARACTERS = 5_000_000;
/** Characters of a value of a query, beside the names of the document. The mirror has no longer texts. */
const LONGEST_TEXT = 10_000;
/** The characters of a number, a boolean or null, and those of an error beside its path, and beside a long message. */
const SHORT = 5;
const ERROR = 200;

@Injectable()
export class Executor {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  /**
   * Executes a mutation in a transaction, which is rolled back: each sees those before it. So it does a query that has read from two
   * revisions, which is rare; statements without a transaction are faster. Rejects with ServiceError QUERY_TOO_COMPLEX if the response
   * would be too long.
   */
  async execute(operation: ValidatedOperation, context: RequestContext): Promise<ExecutionResult> {
    if (!operation.decision.isMutation) {
      const result = await this.executeOnce(operation, context);
      if (context.revisions.size < 2) return result;
      context.reset();
    }
    const { users, groups } = this.config.directory.mapping;
    const hasAudiences = [...users.fields, ...groups.fields].some(({ visibleTo }) => visibleTo !== undefined);
    const work = (transaction: PreviewTransaction) => {
      context.startPreview(transaction);
      return this.executeOnce(operation, context);
    };
    return this.database.previewTransaction(work, context.viewer, hasAudiences);
  }

  private async executeOnce(
    { compiled, document, variables: coerced, decision }: ValidatedOperation,
    contextValue: RequestContext,
  ): Promise<ExecutionResult> {
    const { schema, variables: variableValues, definition } = contextValue.parsed;
    const operationName = definition.name?.value;
    const result = await (compiled === null
      ? execute({ schema, document, contextValue, variableValues, operationName })
      : compiled(contextValue, coerced, variableValues));
    const limit = Math.max(MIN_CHARACTERS, this.config.limits.nodes * CHARACTERS_PER_NODE);
    // Most results are too small to be counted.
    const longest = LONGEST_TEXT + (document.loc?.end ?? Infinity);
    if (compiled === null || decision.cost.values * longest > limit) rejectLargeResult(result, limit);
    return result;
  }
}

/**
 * Rejects a result whose JSON would be too large, before it is written: that takes memory, and no other request runs meanwhile.
 * Aliases repeat texts of any length, which the result has once in memory, and each error has a path.
 * @throws ServiceError QUERY_TOO_COMPLEX
 */
function rejectLargeResult({ data, errors = [] }: ExecutionResult, limit: number): void {
  let count = countCharacters(data, limit);
  for (const { message, path, originalError } of errors) {
    if (count > limit) break;
    const { details } = (originalError ?? {}) as Partial<ServiceError>;
    count += ERROR + message.length + countCharacters([path, details], limit);
  }
  if (count <= limit) return;
  throw new ServiceError(
    'QUERY_TOO_COMPLEX',
    `The response of this operation is too long: at most ${limit} characters are allowed`,
  );
}

/** The approximate length of a value as JSON. It stops counting above the limit. */
function countCharacters(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return SHORT;
  let count = 2;
  if (Array.isArray(value)) {
    for (const each of value) if ((count += countCharacters(each, limit - count)) > limit) break;
    return count;
  }
  // The result has no inherited members, and this is the fastest way through it.
  for (const name in value) {
    count += name.length + 4 + countCharacters((value as Record<string, unknown>)[name], limit - count);
    if (count > limit) break;
  }
  return count;
}

type JitQuery = (root: undefined, context: RequestContext, variables: Variables) => ReturnType<CompiledQuery>;

/** The type of all variables for graphql-jit, which coerces differently. graphql-js coerces the values. */
const COERCED = new GraphQLScalarType({ name: 'Coerced', parseValue: (value) => value });
const COERCED_NODE = {
  kind: Kind.NAMED_TYPE,
  name: { kind: Kind.NAME, value: COERCED.name },
} as const;

function variablesInside(document: DocumentNode): string[] {
  const found = new Set<string>();
  const find = (node: ASTNode) => {
    visit(node, { Variable: ({ name }) => void found.add(name.value) });
  };
  visit(document, { ObjectValue: find, ListValue: find });
  return [...found];
}

/** Compiles operations with graphql-jit (docs/adr/0019), if the results are those of graphql-js. */
@Injectable()
export class Compiler {
  /** Executions before an operation is compiled. Most operations that are sent once never repeat. */
  worthwhileAfter = 1;
  /** An operation lives as long as its cached document. */
  private readonly known = new WeakMap<
    OperationDefinitionNode,
    { times: number; query: CompiledQuery | null }
  >();
  private extended: GraphQLSchema | null = null;

  /** The compiled function, from the second request on; null if graphql-js has to execute the operation. */
  find(request: OperationRequest): CompiledQuery | null {
    const known = this.known.get(request.definition) ?? { times: 0, query: null };
    if (known.times === 0) this.known.set(request.definition, known);
    if (known.times++ === this.worthwhileAfter) known.query = this.compile(request);
    return known.query;
  }

  compile({ schema, document, definition }: OperationRequest): CompiledQuery | null {
    const operationName = definition.name?.value;
    if (this.extended === null) {
      const { types, ...config } = schema.toConfig();
      this.extended = new GraphQLSchema({ ...config, types: [...types, COERCED] });
    }
    const compiled = compileQuery(
      this.extended,
      visit(document, {
        VariableDefinition: ({ kind, variable }) => ({ kind, variable, type: COERCED_NODE }),
      }),
      operationName,
      // Values come from models with declared types, so built-in scalars need no serialization. Custom scalars are still serialized.
      { disableLeafSerialization: true, disablingCapturingStackErrors: true },
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
}
