import fc from 'fast-check';

/** The leaf fields of a type, of which each subset can be selected. */
const LEAVES = {
  user: [
    'id',
    'name',
    'givenName',
    'familyName',
    'email',
    'schoolYear',
    'photo',
    'picture',
    'createdAt',
    'updatedAt',
  ],
  group: ['id', 'name', 'description', 'website', 'email', 'createdAt', 'updatedAt'],
  role: ['value', 'direct', 'inheritedFrom { id }'],
  page: ['totalCount', 'pageInfo { hasNextPage }', 'pageInfo { hasPreviousPage }', 'pageInfo { endCursor }'],
};

const subset = (leaves: readonly string[]) =>
  fc.subarray([...leaves]).map((chosen) => ['__typename', ...chosen].join(' '));
const [USER, GROUP, ROLE, PAGE] = [LEAVES.user, LEAVES.group, LEAVES.role, LEAVES.page].map(subset) as [
  fc.Arbitrary<string>,
  fc.Arbitrary<string>,
  fc.Arbitrary<string>,
  fc.Arbitrary<string>,
];
const filters = (...some: string[]) =>
  fc.subarray(some).map((chosen) => (chosen.length === 0 ? '' : `, filter: {${chosen.join(', ')}}`));
const orders = (...fields: string[]) =>
  fc
    .tuple(fc.constantFrom(...fields), fc.constantFrom('ASC', 'DESC'), fc.constantFrom('first', 'last'))
    .map(([field, direction, end]) => `${end}: 2, orderBy: {field: ${field}, direction: ${direction}}`);

const MEMBERS = fc
  .tuple(orders('NAME', 'ROLE'), filters('origin: DIRECT', 'role: {is: MEMBER}'), PAGE, USER, ROLE)
  .map(
    ([order, filter, page, user, role]) =>
      `members(${order}${filter}) { ${page} nodes { user { ${user} } role { ${role} } } }`,
  );

/** Root fields, each of which needs a statement of its own. */
const FIELDS = fc.oneof(
  fc
    .tuple(orders('NAME', 'UPDATED_AT'), filters('schoolYear: "1A"', 'search: "an"'), PAGE, USER)
    .map(([order, filter, page, user]) => `users(${order}${filter}) { ${page} nodes { ${user} } }`),
  fc
    .tuple(orders('NAME', 'MEMBER_COUNT'), filters('search: "cl"'), PAGE, GROUP)
    .map(([order, filter, page, group]) => `groups(${order}${filter}) { ${page} nodes { ${group} } }`),
  fc.tuple(GROUP, MEMBERS).map(([group, members]) => `group(group: {id: "club"}) { ${group} ${members} }`),
  fc
    .tuple(PAGE, USER, GROUP)
    .map(
      ([page, user, group]) =>
        `search(query: "an", first: 2) { ${page} nodes { ... on User { ${user} } ... on Group { ${group} } } }`,
    ),
);

/** Documents whose statements differ from those of almost all others, within the default limits. */
export const STATEMENT_SHAPES: fc.Arbitrary<string> = fc
  .array(FIELDS, { minLength: 6, maxLength: 6 })
  .map((fields) => `{ ${fields.map((field, index) => `a${index}: ${field}`).join(' ')} }`);
