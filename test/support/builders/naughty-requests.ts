import {
  type GraphQLSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
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
import type { HttpRequest } from '../clients/http.js';
import { isConnection } from '../../../src/graphql/analysis/operation-cost.js';

/** A position of the schema that accepts a text. */
interface StringPosition {
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
function stringPositions(schema: GraphQLSchema): StringPosition[] {
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

/** Characters that a request line and a header can contain. */
const asLatin1 = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');

/** Root fields of one request, below the limit. */
const TOGETHER = 15;

type Build = (text: string) => HttpRequest;

const post = (body: unknown, headers: Record<string, string> = {}): HttpRequest => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

/** Half of a surrogate pair has no encoding in UTF-8. */
const encode = (text: string) => encodeURIComponent(text.toWellFormed());

/** Positions of a request that are not part of a schema. */
const ELSEWHERE: Build[] = [
  (text) => post({ query: text }),
  (text) => post({ query: `{ ${text}: __typename }` }),
  (text) => post({ query: `# ${text}\n{ __typename }` }),
  (text) => post({ query: `query ($a: String = ${JSON.stringify(text)}) { user(user: {id: $a}) { id } }` }),
  (text) => post({ query: `{ user(user: {id: """${text.replaceAll('"""', '\\"""')}"""}) { id } }` }),
  (text) => post({ query: 'query a { __typename }', operationName: text }),
  (text) =>
    post({
      query: '{ __typename }',
      variables: { [text]: text },
      extensions: { [text]: text },
      [text]: text,
    }),
  (text) => ({ path: `/graphql/v1?${new URLSearchParams({ query: text, variables: text }).toString()}` }),
  (text) => post({ query: '{ __typename }' }, { authorization: asLatin1(`Bearer ${text}`) }),
  (text) =>
    post(
      { query: '{ __typename }' },
      { authorization: `Basic ${Buffer.from(`${text}:${text}`).toString('base64')}` },
    ),
  (text) => post({ query: '{ __typename }' }, { accept: asLatin1(text), 'x-request-id': asLatin1(text) }),
  (text) => post({ query: '{ __typename }' }, { 'content-type': asLatin1(`application/json;${text}`) }),
  (text) => ({ path: `/photo/v1/${encode(text)}?expires=1&signature=${encode(text)}` }),
  (text) => ({ path: `/picture/v1/anna?expires=${encode(text)}&signature=${'a'.repeat(64)}` }),
];

/**
 * Requests that together have a text in each position of the schema: as a variable, and in queries, which cost less than
 * mutations, also as a literal.
 */
export function naughtyRequests(schema: GraphQLSchema): Build[] {
  const positions = stringPositions(schema);
  const kinds = new Set(positions.map(kindOf));
  const together = [...kinds].flatMap((kind) => chunksOf(positions.filter((each) => kindOf(each) === kind)));
  return [
    ...together.map(
      (chunk): Build =>
        (text) =>
          post({ query: printByVariable(chunk), variables: { text } }),
    ),
    ...together
      .filter(([first]) => first?.operation === 'query')
      .map(
        (chunk): Build =>
          (text) =>
            post({ query: print(chunk, JSON.stringify(text)) }),
      ),
    ...ELSEWHERE,
  ];
}

/** Groups positions into requests: a text that is not a date makes the whole request invalid. */
function kindOf({ operation, scalar }: StringPosition): string {
  return `${operation} ${scalar === 'DateTime' ? 'of dates' : 'of texts'}`;
}

function chunksOf(positions: StringPosition[]): StringPosition[][] {
  const chunks = Math.ceil(positions.length / TOGETHER);
  return Array.from({ length: chunks }, (_, at) => positions.slice(at * TOGETHER, (at + 1) * TOGETHER));
}

function printByVariable(positions: readonly StringPosition[]): string {
  const scalar = positions[0]?.scalar === 'DateTime' ? 'DateTime!' : 'String!';
  return print(positions, '$text').replace(/^\w+/, (operation) => `${operation} ($text: ${scalar})`);
}

function print(positions: readonly StringPosition[], text: string): string {
  const selections = positions.map((position, at) => `a${at}: ${position.print(text)}`);
  return `${positions[0]?.operation ?? ''} { ${selections.join(' ')} }`;
}
