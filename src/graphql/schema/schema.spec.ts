import { buildSchema, execute, isObjectType, parse } from 'graphql';
import type { Principal } from '../../auth/principal.js';
import { RequestContext } from '../http/request-context.js';
import { finishSchema } from './schema.js';

const built = buildSchema('type Query { open: String, guarded: [Guarded!] } type Guarded { own: String }');
const access = new Map<string, object>([
  ['open', { kind: 'public' }],
  ['guarded', { kind: 'public' }],
  ['own', { kind: 'scopes', scopes: ['read'] }],
]);
for (const type of Object.values(built.getTypeMap()).filter(isObjectType))
  if (!type.name.startsWith('__'))
    for (const { name, extensions } of Object.values(type.getFields()))
      Object.assign(extensions, { access: access.get(name), isShort: true });
const schema = finishSchema(built);

/** A context in which no policy has decided. */
function contextFor(...scopes: string[]): RequestContext {
  const principal: Partial<Principal> = { scopes: new Set(scopes) };
  const context = Object.create(RequestContext.prototype) as RequestContext;
  return Object.assign(context, { request: { principal }, refused: new Map() });
}

describe('a field with a scope, whose resolver is called without the pipeline of Nest', () => {
  const read = async (context: RequestContext) => {
    const rootValue = { open: 'o', guarded: [{ own: 'a' }, { own: 'b' }] };
    const document = parse('{ open guarded { own } }');
    return execute({ schema, document, rootValue, contextValue: context });
  };

  it('has its value if the token has the scope', async () => {
    expect(await read(contextFor('read'))).toEqual({
      data: { open: 'o', guarded: [{ own: 'a' }, { own: 'b' }] },
    });
  });

  it('is null in each place otherwise, each with an error', async () => {
    const { data, errors } = await read(contextFor('write'));
    expect(data).toEqual({ open: 'o', guarded: [{ own: null }, { own: null }] });
    const message = expect.stringContaining('it needs the scope read') as string;
    expect(errors).toMatchObject([
      { message, path: ['guarded', 0, 'own'] },
      { message, path: ['guarded', 1, 'own'] },
    ]);
  });
});

describe('a list without a bound ends the start with its name', () => {
  it.each([
    ['players: [Player!]', 'is a list without a bound'],
    ['players(first: Int!): PlayerConnection', 'has only one of first and last'],
    ['names(of: String): [String!]', 'is a list without a bound'],
  ])('%s', (field, problem) => {
    const types = 'type PlayerConnection { nodes: [Player!]! } type Player { name: String }';
    expect(() => finishSchema(buildSchema(`type Query { ${field} } ${types}`))).toThrow(
      `Query.${field.replace(/\W.*/, '')} ${problem}`,
    );
  });
});
