import fc from 'fast-check';
import type { GraphQLSchema } from 'graphql';
import { DocumentPrinter } from './print-document.js';
import { type Known, often } from './random-arguments.js';
import { RandomSelections } from './random-selections.js';

/** A request in the form in which it is sent. */
export interface RandomRequest {
  readonly query: string;
  readonly variables: Record<string, unknown>;
  readonly operationName?: string;
}

/** Levels of fields and fragments. */
const DEPTH = 7;

/** Requests with valid documents for a schema; occasionally with an invalid variable or the name of a missing operation. */
export function randomRequests(
  schema: GraphQLSchema,
  known: Known,
  changing: readonly string[],
): fc.Arbitrary<RandomRequest> {
  const root = schema.getQueryType();
  if (!root) throw new Error('There is nothing to ask for');
  const operation = new RandomSelections(schema, known, changing).of(root, DEPTH);
  return fc
    .record({
      operations: often(fc.tuple(operation), fc.array(operation, { minLength: 2, maxLength: 3 }), 5),
      run: often(fc.nat(2), fc.constant(null), 60),
      isNamed: fc.boolean(),
      rotation: fc.nat(9),
      unfit: often(fc.constant(null), fc.constantFrom<unknown>({}, 'x', -1), 60),
    })
    .map(({ operations, run, isNamed, rotation, unfit }) => {
      const printer = new DocumentPrinter(rotation);
      const names = operations.map((_, index) => (isNamed || operations.length > 1 ? `Q${index}` : null));
      const query = printer.print(operations, names);
      const variables = Object.fromEntries(
        Object.entries(printer.variables).map(([name, value], index) => [
          name,
          index === 0 && unfit !== null ? unfit : value,
        ]),
      );
      const name = run === null ? 'Unknown' : names[run % names.length];
      return { query, variables, ...(typeof name === 'string' ? { operationName: name } : {}) };
    });
}
