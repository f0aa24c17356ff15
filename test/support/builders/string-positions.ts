import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isScalarType,
} from 'graphql';
import { isConnection } from '../../../src/graphql/analysis/operation-cost.js';

/** A position of the schema that accepts a text. */
export interface StringPosition {
  /** For example «Query.groups(filter.search)». */
  readonly coordinate: string;
  readonly operation: 'query' | 'mutation';
  /** The type of the scalar. */
  readonly scalar: string;
  /** A selection of a root field with this value in the position: a literal or a variable. */
  readonly print: (text: string) => string;
}

/** Root fields that return each type, for a directory with these ids. */
const HOLDERS: Readonly<Record<string, (inside: string) => string>> = {
  Query: (inside) => inside,
  Mutation: (inside) => inside,
  Group: (inside) => `group(group: {id: "club"}) { ${inside} }`,
  User: (inside) => `user(user: {id: "anna"}) { ${inside} }`,
  Profile: (inside) => `profile { ${inside} }`,
};

type Input = Pick<GraphQLArgument | GraphQLInputField, 'name' | 'type'>;

/** A path into an input object: field names, and a function that prints the whole with a text. */
interface Leaf {
  readonly path: string;
  readonly scalar: string;
  readonly print: (text: string) => string;
}

/** All positions, including those of nested inputs. */
export function stringPositions(schema: GraphQLSchema): StringPosition[] {
  return Object.entries(HOLDERS).flatMap(([typeName, hold]) => {
    const type = schema.getType(typeName);
    if (!isObjectType(type)) throw new Error(`There is no type ${typeName}`);
    return Object.values(type.getFields()).flatMap((field) =>
      positionsOf(field).map(({ path, scalar, print }): StringPosition => ({
        coordinate: `${typeName}.${field.name}(${path})`,
        operation: typeName === 'Mutation' ? 'mutation' : 'query',
        scalar,
        print: (text) => hold(print(text)),
      })),
    );
  });
}

function positionsOf(field: GraphQLField<unknown, unknown>): Leaf[] {
  const inside = isCompositeType(getNamedType(field.type)) ? ' { __typename }' : '';
  return field.args.flatMap((argument) =>
    leavesOf(argument).map(({ path, scalar, print }) => {
      const others = field.args.filter((each) => each !== argument && isRequiredArgument(each));
      const given = [
        ...(isConnection(field) ? ['first: 1'] : []),
        ...others.map((each) => `${each.name}: ${anyValueOf(each)}`),
      ];
      const call = (text: string) =>
        `${field.name}(${[...given, `${argument.name}: ${print(text)}`].join(', ')})`;
      return {
        path: [argument.name, path].filter(Boolean).join('.'),
        scalar,
        print: (text: string) => `${call(text)}${inside}`,
      };
    }),
  );
}

/** Filters contain filters: at most one level deep. */
function leavesOf({ type: given }: Input, above: readonly GraphQLInputType[] = []): Leaf[] {
  const type = isNonNullType(given) ? given.ofType : given;
  if (isListType(type)) {
    return leavesOf({ name: '', type: type.ofType }, above).map((leaf) => ({
      ...leaf,
      print: (text) => `[${leaf.print(text)}]`,
    }));
  }
  if (isScalarType(type)) {
    const isText = ['String', 'ID', 'DateTime'].includes(type.name);
    return isText ? [{ path: '', scalar: type.name, print: (text) => text }] : [];
  }
  if (!isInputObjectType(type) || above.includes(type)) return [];
  const members = Object.values(type.getFields());
  return members.flatMap((member) =>
    leavesOf(member, [...above, type]).map(({ path, scalar, print }) => {
      const others = members.filter((each) => each !== member && isRequiredInputField(each));
      const rest = others.map((each) => `${each.name}: ${anyValueOf(each)}`);
      return {
        path: [member.name, path].filter(Boolean).join('.'),
        scalar,
        print: (text: string) => `{${[...rest, `${member.name}: ${print(text)}`].join(', ')}}`,
      };
    }),
  );
}

/** A valid value that usually has a meaning. */
function anyValueOf({ name, type: given }: Input): string {
  const type = isNonNullType(given) ? given.ofType : given;
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  if (isInputObjectType(type)) {
    if (type.name === 'UserInput') return '{id: "anna"}';
    if (type.name === 'GroupInput') return '{id: "club"}';
    const required = Object.values(type.getFields()).filter(isRequiredInputField);
    return `{${required.map((each) => `${each.name}: ${anyValueOf(each)}`).join(', ')}}`;
  }
  return name === 'id' ? '"new-group"' : '"anna"';
}
