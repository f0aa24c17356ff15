import fc from 'fast-check';
import type { GraphQLSchema } from 'graphql';
import type { HttpRequest } from '../clients/http.js';
import { NAUGHTY_STRINGS } from './naughty-strings.js';
import { DocumentPrinter } from './print-document.js';
import { type Known, often } from './random-arguments.js';
import { type RandomRequest, randomRequests } from './random-documents.js';
import { RandomSelections } from './random-selections.js';

/** A change of a text, at a position given as a share of its length. */
interface Edit {
  readonly kind: 'insert' | 'replace' | 'remove' | 'repeat' | 'move' | 'cut off';
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

/** Tokens of documents and bodies, and tokens that occur in none. */
const PIECES = [
  ...Array.from('{}()[]:,!|&=@$#"\'\\/ \n\t\0\u0001\u001b\u007f\u0085\u2028\ufeff\ufffe'),
  ...[
    '...',
    '"""',
    '\\"""',
    '\\u0000',
    '\\ud800',
    '\\u{1F600}',
    '\\u{}',
    '@skip(if: true)',
    '@include(if: null)',
  ],
  ...[
    '__typename',
    '__schema { types { name } }',
    '__proto__',
    'constructor',
    'toString',
    'query',
    'mutation',
    'fragment',
  ],
  ...[
    'null',
    'true',
    '-0',
    '1e999',
    '9007199254740993',
    '2147483648',
    '0.1',
    '[]',
    '{}',
    '{id: "anna"}',
    'first: 1',
    '$a',
  ],
];

/** JSON values of wrong types. */
const STRANGE_VALUES: unknown[] = [
  ...[null, true, 0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, '', '0', 'null', '\0', 'x'.repeat(5000)],
  ...[[], {}, [[]], [null], [[['a']]], { id: null }, { id: ['anna'] }, { id: { id: 'anna' } }, { length: 1 }],
];

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'replace', 'replace', 'remove', 'repeat', 'move', 'cut off'),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 12 }),
  text: often(fc.constantFrom(...PIECES), fc.constantFrom(...NAUGHTY_STRINGS), 4),
});
const edits = fc.array(edit, { minLength: 1, maxLength: 3 });

function change(text: string, { kind, at, length, text: piece }: Edit): string {
  const start = Math.floor(at * text.length);
  const [before, part, after] = [
    text.slice(0, start),
    text.slice(start, start + length),
    text.slice(start + length),
  ];
  switch (kind) {
    case 'insert':
      return `${before}${piece}${part}${after}`;
    case 'replace':
      return `${before}${piece}${after}`;
    case 'remove':
      return `${before}${after}`;
    case 'repeat':
      return `${before}${part.repeat(8)}${after}`;
    case 'move':
      return `${part}${before}${after}`;
    case 'cut off':
      return before;
  }
}

const changeAll = (text: string, all: readonly Edit[]) => all.reduce(change, text);

/** Random mutations. */
function randomMutations(schema: GraphQLSchema, known: Known): fc.Arbitrary<RandomRequest> {
  const root = schema.getMutationType();
  if (!root) throw new Error('Nothing can be changed');
  return fc
    .record({ selections: new RandomSelections(schema, known, []).of(root, 4), rotation: fc.nat(9) })
    .map(({ selections, rotation }) => {
      const printer = new DocumentPrinter(rotation);
      const query = printer.print([selections], [null]).replace(/^query/, 'mutation');
      return { query, variables: printer.variables };
    });
}

/** Replaces one of the nested values. */
function replaceWithin(value: unknown, turn: number, by: unknown): unknown {
  if (typeof value !== 'object' || value === null) return by;
  const entries = Object.entries(value);
  const index = turn % (entries.length + 1);
  const [name, inside] = entries[index] ?? [];
  if (name === undefined) return by;
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value)
    ? [...(value as unknown[])]
    : { ...value };
  return Object.assign(copy, { [name]: replaceWithin(inside, Math.floor(turn / (entries.length + 1)), by) });
}

/** Random damage to a request in transit. */
type Mutation = (request: RandomRequest) => HttpRequest;

const JSON_HEADERS = { 'content-type': 'application/json' };
const post = (body: string | Buffer, headers: Record<string, string> = {}): HttpRequest => ({
  method: 'POST',
  headers: { ...JSON_HEADERS, ...headers },
  body,
});
const targetOf = ({ query, variables, operationName }: RandomRequest) =>
  `/graphql/v1?${new URLSearchParams({
    query,
    variables: JSON.stringify(variables),
    ...(operationName === undefined ? {} : { operationName }),
  }).toString()}`;

/** Characters that a request line and a header can contain. */
export const asLatin1 = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');
const asTarget = (text: string) => asLatin1(text).replace(/[^\x21-\x7e]/g, '%');

const none: fc.Arbitrary<Mutation> = fc.constant((request) => post(JSON.stringify(request)));
const inDocument = edits.map(
  (all): Mutation =>
    (request) =>
      post(JSON.stringify({ ...request, query: changeAll(request.query, all) })),
);
const inVariables = fc
  .record({
    turn: fc.nat(),
    by: often(fc.constantFrom(...STRANGE_VALUES), fc.constantFrom(...NAUGHTY_STRINGS), 2),
  })
  .map(
    ({ turn, by }): Mutation =>
      (request) =>
        post(JSON.stringify({ ...request, variables: replaceWithin(request.variables, turn, by) })),
  );
const inMembers = fc
  .record({ turn: fc.nat(), by: fc.oneof(fc.constantFrom(...STRANGE_VALUES), fc.jsonValue()) })
  .map(
    ({ turn, by }): Mutation =>
      (request) =>
        post(JSON.stringify(replaceWithin(request, turn, by))),
  );
const inText = edits.map(
  (all): Mutation =>
    (request) =>
      post(changeAll(JSON.stringify(request), all)),
);
const inBytes = fc
  .array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
    minLength: 1,
    maxLength: 4,
  })
  .map((all): Mutation => (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    for (const [at, byte] of all) bytes[Math.floor(at * bytes.length)] = byte;
    return post(bytes);
  });
const inTarget = edits.map((all): Mutation => (request) => ({
  path: `/graphql/v1?${asTarget(changeAll(targetOf(request).slice(12), all))}`,
}));
const inHead = fc
  .record({
    name: fc.constantFrom(
      'accept',
      'content-type',
      'content-encoding',
      'x-request-id',
      'origin',
      'cookie',
      'x-forwarded-for',
    ),
    value: fc.oneof(fc.constantFrom(...NAUGHTY_STRINGS), fc.constantFrom(...PIECES), fc.string()),
    method: often(
      fc.constant('POST'),
      fc.constantFrom('PUT', 'DELETE', 'OPTIONS', 'PATCH', 'QUERY', 'PROPFIND'),
      6,
    ),
  })
  .map(({ name, value, method }): Mutation => (request) => ({
    ...post(JSON.stringify(request), { [name]: asLatin1(value).trim() }),
    method,
  }));

/** Valid requests, most of which are then damaged. */
export function mutatedRequests(schema: GraphQLSchema, known: Known): fc.Arbitrary<HttpRequest> {
  const request = often(randomRequests(schema, known, []), randomMutations(schema, known), 5);
  const mutation = fc.oneof(
    { weight: 2, arbitrary: none },
    { weight: 8, arbitrary: inDocument },
    { weight: 6, arbitrary: inVariables },
    { weight: 2, arbitrary: inMembers },
    { weight: 3, arbitrary: inText },
    { weight: 2, arbitrary: inBytes },
    { weight: 2, arbitrary: inTarget },
    { weight: 2, arbitrary: inHead },
  );
  return fc.tuple(request, mutation).map(([given, mutate]) => mutate(given));
}
