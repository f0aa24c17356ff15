/** @isolated The suite declares types and resolvers. */
import { Test } from '@nestjs/testing';
import {
  Field,
  GraphQLSchemaBuilderModule,
  GraphQLSchemaFactory,
  ObjectType,
  Query,
  Resolver,
} from '@nestjs/graphql';
import {
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLSchema,
  GraphQLString,
} from 'graphql';
import { type Access, InheritAccess, Public, RequireScopes, RequireToken } from '../../src/auth/access.js';
import { finishSchema } from '../../src/graphql/schema/schema.js';

interface Declared {
  type?: GraphQLOutputType;
  access?: Access;
}

function objectType(name: string, fields: Record<string, Declared>): GraphQLObjectType {
  return new GraphQLObjectType({
    name,
    fields: Object.fromEntries(
      Object.entries(fields).map(([key, { type = GraphQLString, access }]) => [
        key,
        { type, extensions: access === undefined ? {} : { access } },
      ]),
    ),
  });
}

const PUBLIC: Access = { kind: 'public' };
const INHERITED: Access = { kind: 'inherited' };
const READ: Access = { kind: 'scopes', scopes: ['read'] };

describe('a schema', () => {
  it('is built if every field declares its access', () => {
    const pet = objectType('Pet', { name: { access: INHERITED }, owner: { access: READ } });
    const schema = finishSchema(
      new GraphQLSchema({ query: objectType('Query', { pet: { type: pet, access: PUBLIC } }) }),
    );
    expect(Object.keys(schema.getQueryType()?.getFields() ?? {})).toEqual(['pet']);
  });

  it('fails for a field without a declaration', () => {
    const pet = objectType('Pet', { name: { access: INHERITED }, owner: {} });
    const built = new GraphQLSchema({ query: objectType('Query', { pet: { type: pet, access: PUBLIC } }) });
    expect(() => finishSchema(built)).toThrow(/Pet\.owner does not say what a token needs/);
  });

  it('fails for a field of a type that is not reachable', () => {
    const built = new GraphQLSchema({
      query: objectType('Query', { name: { access: PUBLIC } }),
      types: [objectType('Pet', { owner: {} })],
    });
    expect(() => finishSchema(built)).toThrow(/Pet\.owner/);
  });

  it.each(['query', 'mutation', 'subscription'] as const)(
    'fails for a field of its %s root that inherits its access',
    (operation) => {
      const built = new GraphQLSchema({
        query: objectType('Query', { name: { access: PUBLIC } }),
        [operation]: objectType('Root', { name: { access: INHERITED } }),
      });
      expect(() => finishSchema(built)).toThrow(/Root\.name is a root field and has nothing to inherit/);
    },
  );

  it('fails for a non-null field with a scope', () => {
    const built = new GraphQLSchema({
      query: objectType('Query', { name: { type: new GraphQLNonNull(GraphQLString), access: READ } }),
    });
    expect(() => finishSchema(built)).toThrow(/Query\.name needs a scope and must be nullable/);
  });

  it('fails once, with all invalid fields', () => {
    const built = new GraphQLSchema({
      query: objectType('Query', { one: {}, two: { access: INHERITED }, three: { access: PUBLIC } }),
    });
    expect(() => finishSchema(built)).toThrow(/Query\.one [^\n]*\nQuery\.two [^\n]*$/);
  });
});

@ObjectType()
class Pet {
  @InheritAccess()
  @Field(() => String)
  name!: string;

  @RequireScopes('profile', 'write')
  @Field(() => String, { nullable: true })
  secret!: string | null;
}

@Resolver()
class PetsResolver {
  @Public()
  @Query(() => Pet)
  pet(): Pet {
    return new Pet();
  }

  @RequireToken()
  @Query(() => Pet, { nullable: true })
  ownPet(): Pet {
    return new Pet();
  }
}

describe('a declaration of access', () => {
  it('belongs to the field that it decorates', async () => {
    const module = await Test.createTestingModule({ imports: [GraphQLSchemaBuilderModule] }).compile();
    const schema = await module.get(GraphQLSchemaFactory).create([PetsResolver]);
    const accesses = ['Query', 'Pet'].flatMap((name) => {
      const type = schema.getType(name) as GraphQLObjectType;
      return Object.values(type.getFields()).map((field) => [
        `${name}.${field.name}`,
        field.extensions['access'],
      ]);
    });
    expect(Object.fromEntries(accesses)).toEqual({
      'Query.pet': { kind: 'public' },
      'Query.ownPet': { kind: 'token' },
      'Pet.name': { kind: 'inherited' },
      'Pet.secret': { kind: 'scopes', scopes: ['profile', 'write'] },
    });
  });
});
