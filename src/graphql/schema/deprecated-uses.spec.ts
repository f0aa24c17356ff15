import { buildSchema, getOperationAST, type GraphQLSchema, parse } from 'graphql';
import { findDeprecatedUses } from './deprecation.js';

const SOON = 'Use new. Deprecated since 2026-02-01, gone from 2026-09-01.';
const LATER = 'Use new. Deprecated since 2026-01-01, gone from 2027-01-01.';

const schema = buildSchema(`
  type Query { user: User, users(order: Order = NAME, old: Int @deprecated(reason: "${SOON}"), in: In): [User] }
  type User { name: String, nick: String @deprecated(reason: "${LATER}") }
  enum Order { NAME, NICK @deprecated(reason: "${SOON}") }
  input In { name: String, nick: String @deprecated(reason: "${SOON}") }
`);

function usesOf(text: string, operationName?: string, of: GraphQLSchema = schema) {
  const document = parse(text);
  const definition = getOperationAST(document, operationName);
  if (!definition) throw new Error('There is no such operation');
  return findDeprecatedUses(of, document, definition);
}

const coordinatesOf = (text: string, operationName?: string) =>
  usesOf(text, operationName)?.uses.map(({ coordinate }) => coordinate) ?? null;

describe('the deprecated elements of an operation', () => {
  it('are none, almost always', () => {
    expect(usesOf('{ user { name } users(order: NAME) { __typename } }')).toBeNull();
    expect(usesOf('{ a }', undefined, buildSchema('type Query { a: Int }'))).toBeNull();
  });

  it.each([
    ['{ user { nick } }', 'User.nick'],
    ['{ user { name: nick } users { nick } }', 'User.nick'],
    ['{ user { ...part } } fragment part on User { nick }', 'User.nick'],
    ['{ users(old: 1) { name } }', 'Query.users(old:)'],
    ['query ($old: Int) { users(old: $old) { name } }', 'Query.users(old:)'],
    ['{ users(order: NICK) { name } }', 'Order.NICK'],
    ['query ($order: Order = NICK) { users(order: $order) { name } }', 'Order.NICK'],
    ['{ users(in: {nick: "x"}) { name } }', 'In.nick'],
  ])('are found in %s', (text, coordinate) => {
    expect(coordinatesOf(text)).toEqual([coordinate]);
  });

  it('are those of the executed operation', () => {
    const text = 'query one { user { nick } } query other { user { name } }';
    expect(coordinatesOf(text, 'one')).toEqual(['User.nick']);
    expect(coordinatesOf(text, 'other')).toBeNull();
  });

  it('have the earliest of their dates', () => {
    expect(usesOf('{ user { nick } users(old: 1) { name } }')).toEqual({
      uses: [
        { coordinate: 'User.nick', reason: LATER, sunset: '2027-01-01' },
        { coordinate: 'Query.users(old:)', reason: SOON, sunset: '2026-09-01' },
      ],
      headers: { deprecation: '@1767225600', sunset: 'Tue, 01 Sep 2026 00:00:00 GMT' },
    });
  });
});
