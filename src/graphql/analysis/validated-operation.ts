import type { DocumentNode, GraphQLSchema } from 'graphql';
import type { CacheDependency } from '../cache/cache-policy.decorator.js';
import type { CompiledQuery } from '../execution/compiler.js';
import type { DeprecatedUses } from './deprecated-uses.js';
import type { Variables } from './operation.js';
import type { OperationCost } from './operation-cost.js';
import type { PersonalDataSelection } from './personal-data-selection.js';
import type { Withheld } from './scope-rule.js';

/** An operation that may run. */
export interface ValidatedOperation {
  readonly document: DocumentNode;
  /** The schema restricted to the scopes of the token. */
  readonly schema: GraphQLSchema;
  readonly withheld: readonly Withheld[];
  /** What its result depends on; null if it cannot be cached. */
  readonly cacheDependencies: ReadonlySet<CacheDependency> | null;
  readonly cost: OperationCost;
  /** Whether it runs in a preview transaction. */
  readonly isMutation: boolean;
  /** Null if it selects no personal data. */
  readonly personalData: PersonalDataSelection | null;
  /** The deprecated elements that it uses; null if there are none. */
  readonly deprecated: DeprecatedUses | null;
  /** Its variables, coerced. */
  readonly variables: Variables;
  /** Null if graphql-js executes it. */
  readonly compiled: CompiledQuery | null;
}
