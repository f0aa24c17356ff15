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

const cycle = (length: number) =>
  `{ ...F0 } ${repeat(length, (at) => `fragment F${at} on Query { ...F${(at + 1) % length} }`)}`;

const mutualSpreads = (fragments: number) => {
  const spreads = repeat(fragments, (at) => `...F${at}`);
  return `{ ...F0 } ${repeat(fragments, (at) => `fragment F${at} on Query { ${spreads} }`)}`;
};

const nested = (levels: number, open: string, inside: string, close: string) =>
  `${open.repeat(levels)}${inside}${close.repeat(levels)}`;

const CLUB = 'group(group: {id: "club"})';

const QUERIES: Readonly<Record<string, string>> = {
  '10,000 unknown fields': `{ ${repeat(10_000, (at) => `f${at}`)} }`,
  '8,000 times the same field': `{ ${repeat(8000, '__typename')} }`,
  '240 fields that are nearly known': `{ ${repeat(240, (at) => `buildInf${at} { a }`)} }`,
  'one name of 95,000 letters': `{ ${'a'.repeat(95_000)} }`,
  'one number of 95,000 digits': `{ groups(first: ${'9'.repeat(95_000)}) { totalCount } }`,
  'one text of 90,000 letters': `{ user(user: "${'a'.repeat(90_000)}") { id } }`,
  'an unterminated text': `{ user(user: {id: "${'a'.repeat(90_000)}`,
  'nothing but a comment': `#${'a'.repeat(95_000)}`,
  '150 operations without a name': repeat(150, '{ __typename }'),
  'a subscription': `subscription { ${repeat(200, (at) => `a${at}: changes`)} }`,
  '120 types': repeat(120, (at) => `type T${at} { a: Int }`),
  'an extension of the schema': `extend schema @a { query: Q } ${repeat(90, 'scalar A')}`,
  '490 unknown fields inside one another': nested(490, '{ a ', '', '}'),
  '30,000 braces': '{'.repeat(30_000),
  '330 fragments inside one another': `{ ${nested(320, '... { ', 'nothing', '}')} }`,
  'lists 450 deep': `{ groups(first: ${nested(450, '[', '1', ']')}) { totalCount } }`,
  'objects 240 deep': `{ groups(first: 1, filter: ${nested(240, '{parent: ', '1', '}')}) { totalCount } }`,
  'a type of 490 lists': `query ($a: ${nested(490, '[', 'Int', ']')}) { __typename }`,
  'a valid type of 300 lists': `query ($a: ${nested(300, '[', 'Int', ']!')}) { __typename }`,
  'a default 450 lists deep': `query ($a: Int = ${nested(450, '[', '1', ']')}) { groups(first: $a) { totalCount } }`,
  'cyclic introspection': `{ __schema { types { ${nested(20, 'fields { type { ', 'name', '} }')} } } }`,
  'a fragment in itself': cycle(1),
  'a cycle of 120 fragments': cycle(120),
  '20 fragments, each with all of them': mutualSpreads(20),
  '160 unused fragments': `{ __typename } ${repeat(160, (at) => `fragment F${at} on Query { a }`)}`,
  '450 fragments that are not there': `{ ${repeat(450, (at) => `...F${at}`)} }`,
  '190 fragments on what cannot be': `{ ${repeat(190, '... on User { id }')} }`,
  '1,020 aliases': `{ ${CLUB} { ${repeat(1020, (at) => `a${at}: id`)} } }`,
  '160 fields of one name that differ': `{ ${repeat(160, (at) => `a: user(user: "${at}")`)} }`,
  '85 groups of one name that differ': `{ ${repeat(85, (at) => `group(group: {id: "${at}"}) { id }`)} }`,
  'two trees that differ in a leaf': `{ ${repeat(2, (side) => `${CLUB} { ${nested(40, 'subgroups(first: 1) { nodes { ', `x: ${side ? 'id' : 'name'}`, '} }')} }`)} }`,
  '30 fragments side by side': `{ ${repeat(30, (at) => `...F${at}`)} } ${repeat(30, (at) => `fragment F${at} on Query { a: user(user: {id: "${at}"}) { id x: name } }`)}`,
  'many fragments at each of 30 levels': `{ ...F0 ...F0 } ${repeat(30, (at) => `fragment F${at} on Query { ${repeat(6, `... { ...F${at + 1} }`)} }`)} fragment F30 on Query { __typename }`,
  'the same field inside of the same field, 8 times at each of 40 levels': `{ ${nested(40, `${repeat(8, '... { __typename }')} ... { `, '__typename', '}')} }`,
  '450 unknown directives': `{ __typename ${repeat(450, '@a')} }`,
  '140 times the same directive': `{ __typename ${repeat(140, '@skip(if: false)')} }`,
  '140 directives where none can be': `query ${repeat(140, '@skip(if: true)')} { __typename }`,
  '240 unused variables': `query (${repeat(240, (at) => `$a${at}: Int`)}) { __typename }`,
  '240 variables of unknown types': `query (${repeat(240, (at) => `$a${at}: Grou${at}`)}) { __typename }`,
  '110 variables that are not there': `{ ${repeat(110, (at) => `__typename @skip(if: $a${at})`)} }`,
  '300 times the same argument': `{ groups(${repeat(300, 'first: 1')}) { totalCount } }`,
  '300 times the same member': `{ user(user: {${repeat(300, 'id: "a"')}}) { id } }`,
  '900 values that are not there': `{ search(query: "an", first: 1, kinds: [${repeat(900, 'USE')}]) { totalCount } }`,
  NUL: '{ __typename \u0000 }',
  '7,000 times what suggestions begin with': `{ groups(first: "${'Did you mean '.repeat(7000)}") { totalCount } }`,
  'escape sequences of terminals': '{ __typename \u001b[2J }',
  'half of a surrogate pair': '{ user(user: {id: "\\uD83D"}) { id } }',
  'a character of 9,000 digits': `{ user(user: {id: "\\u{${'0'.repeat(9000)}41"}) { id } }`,
};

const PAGE = 'query ($first: Int) { groups(first: $first) { totalCount } }';
const KINDS = 'query ($kinds: [SearchKind!]) { search(query: "an", first: 1, kinds: $kinds) { totalCount } }';
const FILTER = 'query ($filter: GroupFilter) { groups(first: 1, filter: $filter) { totalCount } }';

const OTHERS: HostileDocument[] = [
  {
    name: 'none of 150 operations',
    query: repeat(150, (at) => `query a${at} { __typename }`),
    operationName: 'a150',
  },
  {
    name: 'a list of 20,000 in a variable',
    query: KINDS,
    variables: { kinds: Array.from({ length: 20_000 }, () => 1) },
  },
  { name: 'a text of 95,000 letters for a number', query: PAGE, variables: { first: 'a'.repeat(95_000) } },
  { name: 'the same in a variable', query: PAGE, variables: { first: 'Did you mean '.repeat(7000) } },
  { name: 'an invalid number', query: PAGE, variables: { first: Number.MAX_VALUE } },
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
  ...Object.entries(QUERIES).map(([name, query]) => ({ name, query })),
  ...OTHERS,
];
