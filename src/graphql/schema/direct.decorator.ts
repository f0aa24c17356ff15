import { Extensions } from '@nestjs/graphql';

/**
 * Declares that the resolver of a field is called without Nest's pipeline, which creates a chain of promises
 * for each call and costs as much as a small response. Guards still run. The parameters of the method must be
 * `@Parent()`, `@Args()`, `@Context()` and `@Info()` in this order, or the first of them (docs/nest.md).
 */
export function Direct(): MethodDecorator {
  return Extensions({ direct: true });
}
