import {
  getNamedType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isCompositeType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';

/** A field of the schema, reached by a path of response keys from the root. */
export interface SchemaStep {
  /** Type.field */
  readonly coordinate: string;
  readonly path: readonly string[];
  readonly isList: boolean;
  readonly isComposite: boolean;
  readonly children: readonly SchemaStep[];
}

/** Every field of the query type by every path up to a depth. Recursive types are visited again at each position. */
export function walkQueries(schema: GraphQLSchema, depth: number): SchemaStep[] {
  const root = schema.getQueryType();
  return root ? stepsOf(root, [], depth) : [];
}

/** The fields of the mutation type. */
export function walkMutations(schema: GraphQLSchema, depth: number): SchemaStep[] {
  const root = schema.getMutationType();
  return root ? stepsOf(root, [], depth) : [];
}

function stepsOf(type: GraphQLNamedType, path: readonly string[], depth: number): SchemaStep[] {
  if (depth === 0) return [];
  return objectTypes(type).flatMap((objectType) =>
    Object.values(objectType.getFields()).map((field): SchemaStep => {
      const named = getNamedType(field.type);
      const nullable = isNonNullType(field.type) ? field.type.ofType : field.type;
      const here = [...path, field.name];
      return {
        coordinate: `${objectType.name}.${field.name}`,
        path: here,
        isList: isListType(nullable),
        isComposite: isCompositeType(named),
        children: stepsOf(named, here, depth - 1),
      };
    }),
  );
}

function objectTypes(type: GraphQLNamedType): readonly GraphQLObjectType[] {
  if (isUnionType(type)) return type.getTypes();
  return isObjectType(type) ? [type] : [];
}

export function flatten(steps: readonly SchemaStep[]): SchemaStep[] {
  return steps.flatMap((step) => [step, ...flatten(step.children)]);
}

/** One selection set with all of these. `argumentsOf` returns the arguments of a field, without parentheses. */
export function printSelection(
  steps: readonly SchemaStep[],
  argumentsOf: (coordinate: string) => string | undefined,
): string {
  const selections = steps.map((step) => {
    const given = argumentsOf(step.coordinate);
    const field = `${step.path.at(-1) ?? ''}${given === undefined ? '' : `(${given})`}`;
    const inside = step.children.length > 0 ? printSelection(step.children, argumentsOf) : '{ __typename }';
    const [typeName = ''] = step.coordinate.split('.');
    return isRoot(step)
      ? `${field}${step.isComposite ? ` ${inside}` : ''}`
      : `... on ${typeName} { ${field}${step.isComposite ? ` ${inside}` : ''} }`;
  });
  return `{ ${selections.join(' ')} }`;
}

function isRoot({ path }: SchemaStep): boolean {
  return path.length === 1;
}

/** The places of a response along a path: for lists, those of each item. */
export function placesAt(data: unknown, path: readonly string[]): (readonly (string | number)[])[] {
  const [key, ...rest] = path;
  if (Array.isArray(data))
    return data.flatMap((row, index) => placesAt(row, path).map((place) => [index, ...place]));
  if (key === undefined) return [[]];
  if (typeof data !== 'object' || data === null || !(key in data)) return [];
  return placesAt((data as Record<string, unknown>)[key], rest).map((place) => [key, ...place]);
}

/** The values at these places. */
export function valuesAt(data: unknown, path: readonly string[]): unknown[] {
  return placesAt(data, path).map((place) =>
    place.reduce((value, key) => (value as Record<string | number, unknown>)[key], data),
  );
}
