/** A malicious document. */
export interface HostileDocument {
  readonly name: string;
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly operationName?: string;
}

/** Concatenated texts. */
export function repeat(count: number, text: string | ((index: number) => string), separator = ' '): string {
  const each = typeof text === 'string' ? () => text : text;
  return Array.from({ length: count }, (_, index) => each(index)).join(separator);
}

/** Fragments, each of which spreads the next one twice. */
const doubling = (levels: number) =>
  `{ ...F0 } ${repeat(levels, (at) => `fragment F${at} on Query { ...F${at + 1} ... { ...F${at + 1} } }`)}
   fragment F${levels} on Query { buildInfo { version } }`;

/** The same fragments on a type that never applies, so that there is no field to count. */
const doublingNothing = (levels: number) =>
  `{ search(query: "ab", first: 1) { nodes { ... on User { ...F0 } } } }
   ${repeat(levels, (at) => `fragment F${at} on SearchResult { ...F${at + 1} ...F${at + 1} }`)}
   fragment F${levels} on SearchResult { ... on Group { id } }`;

const cycle = (length: number) =>
  `{ ...F0 } ${repeat(length, (at) => `fragment F${at} on Query { ...F${(at + 1) % length} }`)}`;

const mutualSpreads = (fragments: number) => {
  const spreads = repeat(fragments, (at) => `...F${at}`);
  return `{ ...F0 } ${repeat(fragments, (at) => `fragment F${at} on Query { ${spreads} }`)}`;
};

const nested = (levels: number, open: string, inside: string, close: string) =>
  `${open.repeat(levels)}${inside}${close.repeat(levels)}`;

const CLUB = 'group(group: {id: "club"})';

const LONG: HostileDocument[] = [
  { name: '10,000 unknown fields', query: `{ ${repeat(10_000, (at) => `f${at}`)} }` },
  { name: '8,000 times the same field', query: `{ ${repeat(8000, '__typename')} }` },
  { name: '990 unknown fields', query: `{ ${repeat(990, (at) => `f${at}`)} }` },
  { name: '240 fields that are nearly known', query: `{ ${repeat(240, (at) => `buildInf${at} { a }`)} }` },
  { name: '330 aliases', query: `{ ${repeat(330, (at) => `a${at}: __typename`)} }` },
  { name: 'one name of 95,000 letters', query: `{ ${'a'.repeat(95_000)} }` },
  { name: 'one number of 95,000 digits', query: `{ groups(first: ${'9'.repeat(95_000)}) { totalCount } }` },
  { name: 'one text of 90,000 letters', query: `{ user(user: "${'a'.repeat(90_000)}") { id } }` },
  { name: 'an unterminated text', query: `{ user(user: {id: "${'a'.repeat(90_000)}` },
  { name: 'an unterminated block text', query: `{ user(user: {id: """${'\\"""'.repeat(9000)}` },
  { name: 'nothing but a comment', query: `#${'a'.repeat(95_000)}` },
  { name: 'nothing but commas', query: ','.repeat(95_000) },
  { name: 'nothing but line feeds', query: `{${'\n'.repeat(45_000)}` },
  { name: '150 operations without a name', query: repeat(150, '{ __typename }') },
  { name: '150 operations of one name', query: repeat(150, 'query a { __typename }') },
  {
    name: 'none of 150 operations',
    query: repeat(150, (at) => `query a${at} { __typename }`),
    operationName: 'a150',
  },
  { name: '140 mutations', query: `mutation { ${repeat(140, (at) => `a${at}: __typename`)} }` },
  { name: 'a subscription', query: `subscription { ${repeat(200, (at) => `a${at}: changes`)} }` },
  { name: '120 types', query: repeat(120, (at) => `type T${at} { a: Int }`) },
  { name: 'an extension of the schema', query: `extend schema @a { query: Q } ${repeat(90, 'scalar A')}` },
];

const DEEP: HostileDocument[] = [
  { name: '490 unknown fields inside one another', query: nested(490, '{ a ', '', '}') },
  { name: '490 unclosed braces', query: '{ a '.repeat(490) },
  { name: '30,000 braces', query: '{'.repeat(30_000) },
  {
    name: '100 levels of groups',
    query: `{ ${CLUB} { ${nested(50, 'subgroups(first: 1) { nodes { ', 'id', '} }')} } }`,
  },
  { name: '330 fragments inside one another', query: `{ ${nested(320, '... { ', 'nothing', '}')} }` },
  { name: 'lists 450 deep', query: `{ groups(first: ${nested(450, '[', '1', ']')}) { totalCount } }` },
  { name: 'unclosed lists', query: `{ groups(first: ${'['.repeat(900)}` },
  {
    name: 'objects 240 deep',
    query: `{ groups(first: 1, filter: ${nested(240, '{parent: ', '1', '}')}) { totalCount } }`,
  },
  { name: 'a type of 490 lists', query: `query ($a: ${nested(490, '[', 'Int', ']')}) { __typename }` },
  {
    name: 'a valid type of 300 lists',
    query: `query ($a: ${nested(300, '[', 'Int', ']!')}) { __typename }`,
  },
  {
    name: 'a default 450 lists deep',
    query: `query ($a: Int = ${nested(450, '[', '1', ']')}) { groups(first: $a) { totalCount } }`,
  },
  {
    name: 'cyclic introspection',
    query: `{ __schema { types { ${nested(20, 'fields { type { ', 'name', '} }')} } } }`,
  },
];

const FRAGMENTS: HostileDocument[] = [
  { name: 'a fragment in itself', query: cycle(1) },
  { name: 'two fragments in one another', query: cycle(2) },
  { name: 'a cycle of 120 fragments', query: cycle(120) },
  { name: '20 fragments, each with all of them', query: mutualSpreads(20) },
  { name: 'fragments that double 70 times', query: doubling(70) },
  { name: 'fragments that double 70 times, and never apply', query: doublingNothing(70) },
  {
    name: '160 unused fragments',
    query: `{ __typename } ${repeat(160, (at) => `fragment F${at} on Query { a }`)}`,
  },
  { name: '160 fragments of one name', query: `{ ...F } ${repeat(160, 'fragment F on Query { a }')}` },
  { name: '450 fragments that are not there', query: `{ ${repeat(450, (at) => `...F${at}`)} }` },
  { name: '190 fragments on what cannot be', query: `{ ${repeat(190, '... on User { id }')} }` },
  { name: '190 fragments on unknown types', query: `{ ${repeat(190, (at) => `... on Grou${at} { id }`)} }` },
  {
    name: '30 aliases, 34 times',
    query: `{ ${CLUB} { ${repeat(34, '...F')} } } fragment F on Group { ${repeat(30, (at) => `a${at}: id`)} }`,
  },
];

const OVERLAPS: HostileDocument[] = [
  { name: '990 times the same field', query: `{ ${repeat(990, '__typename')} }` },
  {
    name: '160 fields of one name that differ',
    query: `{ ${repeat(160, (at) => `a: user(user: "${at}")`)} }`,
  },
  {
    name: '85 groups of one name that differ',
    query: `{ ${repeat(85, (at) => `group(group: {id: "${at}"}) { id }`)} }`,
  },
  {
    name: 'two trees that differ in a leaf',
    query: `{ ${repeat(2, (side) => `${CLUB} { ${nested(40, 'subgroups(first: 1) { nodes { ', `x: ${side ? 'id' : 'name'}`, '} }')} }`)} }`,
  },
  {
    name: '30 fragments side by side',
    query: `{ ${repeat(30, (at) => `...F${at}`)} } ${repeat(30, (at) => `fragment F${at} on Query { a: user(user: {id: "${at}"}) { id x: name } }`)}`,
  },
  {
    name: 'many fragments at each of 30 levels',
    query: `{ ...F0 ...F0 } ${repeat(30, (at) => `fragment F${at} on Query { ${repeat(6, `... { ...F${at + 1} }`)} }`)} fragment F30 on Query { __typename }`,
  },
  {
    name: 'the same field inside of the same field, 8 times at each of 40 levels',
    query: `{ ${nested(40, `${repeat(8, '... { __typename }')} ... { `, '__typename', '}')} }`,
  },
];

const DIRECTIVES: HostileDocument[] = [
  { name: '450 unknown directives', query: `{ __typename ${repeat(450, '@a')} }` },
  {
    name: '450 unknown directives of different names',
    query: `{ __typename ${repeat(450, (at) => `@a${at}`)} }`,
  },
  { name: '140 times the same directive', query: `{ __typename ${repeat(140, '@skip(if: false)')} }` },
  { name: '120 directives', query: `{ ${repeat(120, '__typename @include(if: true)')} }` },
  {
    name: '120 directives through fragments',
    query: `{ ${repeat(4, '...F')} } fragment F on Query { ${repeat(30, '__typename @include(if: true)')} }`,
  },
  {
    name: '140 directives where none can be',
    query: `query ${repeat(140, '@skip(if: true)')} { __typename }`,
  },
  { name: 'a directive without its argument, 300 times', query: `{ ${repeat(300, '__typename @skip')} }` },
];

const VALUES: HostileDocument[] = [
  {
    name: '240 unused variables',
    query: `query (${repeat(240, (at) => `$a${at}: Int`)}) { __typename }`,
  },
  { name: '240 variables of one name', query: `query (${repeat(240, '$a: Int')}) { __typename }` },
  {
    name: '240 variables of unknown types',
    query: `query (${repeat(240, (at) => `$a${at}: Grou${at}`)}) { __typename }`,
  },
  {
    name: '110 variables that are not there',
    query: `{ ${repeat(110, (at) => `__typename @skip(if: $a${at})`)} }`,
  },
  { name: '300 times the same argument', query: `{ groups(${repeat(300, 'first: 1')}) { totalCount } }` },
  {
    name: '300 unknown arguments',
    query: `{ groups(${repeat(300, (at) => `firs${at}: 1`)}) { totalCount } }`,
  },
  { name: '300 times the same member', query: `{ user(user: {${repeat(300, 'id: "a"')}}) { id } }` },
  { name: '300 unknown members', query: `{ user(user: {${repeat(300, (at) => `i${at}: 1`)}}) { id } }` },
  {
    name: '900 values that are not there',
    query: `{ search(query: "an", first: 1, kinds: [${repeat(900, 'USE')}]) { totalCount } }`,
  },
  { name: 'a page of 1,000,000', query: '{ groups(first: 1000000) { totalCount } }' },
  {
    name: '1,000,000 nodes',
    query: `{ ${CLUB} { members(first: 100) { nodes { user { groups(first: 100) { nodes { group { subgroups(first: 100) { totalCount } } } } } } } } }`,
  },
  { name: 'NUL', query: '{ __typename \u0000 }' },
  { name: 'NUL in a text', query: '{ user(user: {id: "\u0000"}) { id } }' },
  {
    name: '7,000 times what suggestions begin with',
    query: `{ groups(first: "${'Did you mean '.repeat(7000)}") { totalCount } }`,
  },
  { name: 'escape sequences of terminals', query: '{ __typename \u001b[2J }' },
  { name: 'half of a surrogate pair', query: '{ user(user: {id: "\\uD83D"}) { id } }' },
  {
    name: 'halves of a surrogate pair in the wrong order',
    query: '{ user(user: {id: "\\uDE00\\uD83D"}) { id } }',
  },
  { name: 'a character above the last one', query: '{ user(user: {id: "\\u{110000}"}) { id } }' },
  { name: 'a character of 9,000 digits', query: `{ user(user: {id: "\\u{${'0'.repeat(9000)}41"}) { id } }` },
];

const PAGE = 'query ($first: Int) { groups(first: $first) { totalCount } }';
const KINDS = 'query ($kinds: [SearchKind!]) { search(query: "an", first: 1, kinds: $kinds) { totalCount } }';
const FILTER = 'query ($filter: GroupFilter) { groups(first: 1, filter: $filter) { totalCount } }';

const VARIABLES: HostileDocument[] = [
  {
    name: 'a list of 20,000 in a variable',
    query: KINDS,
    variables: { kinds: Array.from({ length: 20_000 }, () => 1) },
  },
  { name: 'a text of 95,000 letters for a number', query: PAGE, variables: { first: 'a'.repeat(95_000) } },
  { name: 'the same in a variable', query: PAGE, variables: { first: 'Did you mean '.repeat(7000) } },
  { name: 'an invalid number', query: PAGE, variables: { first: Number.MAX_VALUE } },
  { name: 'a page of 101 by a variable', query: PAGE, variables: { first: 101 } },
  {
    name: '8,000 unknown members of a variable',
    query: FILTER,
    variables: { filter: Object.fromEntries(Array.from({ length: 8000 }, (_, at) => [`f${at}`, at])) },
  },
  {
    name: 'a missing required value',
    query: `query (${repeat(90, (at) => `$a${at}: Boolean!`)}) { ${repeat(90, (at) => `__typename @skip(if: $a${at})`)} }`,
  },
];

export const HOSTILE_DOCUMENTS: readonly HostileDocument[] = [
  ...LONG,
  ...DEEP,
  ...FRAGMENTS,
  ...OVERLAPS,
  ...DIRECTIVES,
  ...VALUES,
  ...VARIABLES,
];
