import type { GraphQLSchema } from 'graphql';
import type { HttpRequest } from '../clients/http.js';
import { asLatin1 } from './mutated-requests.js';
import { type StringPosition, stringPositions } from './string-positions.js';

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
