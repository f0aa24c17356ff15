import type { DocumentNode, ExecutionResult, GraphQLSchema } from 'graphql';
import type { Variables } from '../analysis/operation.js';
import type { PolicyDecision } from '../analysis/operation-policy.js';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import type { RequestContext } from '../http/request-context.js';

export interface ValidatedOperation extends Omit<PolicyDecision, 'dryRunFields'> {
  readonly document: DocumentNode;
  /** The schema restricted to the scopes of the token. */
  readonly schema: GraphQLSchema;
  /** What its result depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  readonly variables: Variables;
  /** Null if graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
}

/** A compiled operation with the results of graphql-js. It takes the variables coerced and as sent. */
export type CompiledQuery = (
  context: RequestContext,
  coerced: Variables,
  sent: Variables,
) => ExecutionResult | Promise<ExecutionResult>;
