/** @isolated The suite declares types and resolvers. */
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory, Query, Resolver } from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { assertObjectType } from 'graphql';
import { Profile } from '../users/user.model.js';
import { ProfilePicturesResolver, UserPicturesResolver } from './user-pictures.resolver.js';

@Resolver()
class ProfileResolver {
  @Query(() => Profile)
  profile(): Profile | null {
    return null;
  }
}

describe('the picture fields', () => {
  it('have an optional size, are nullable, and are readable wherever the user is', async () => {
    const module = await Test.createTestingModule({ imports: [GraphQLSchemaBuilderModule] }).compile();
    const schema = await module
      .get(GraphQLSchemaFactory)
      .create([ProfileResolver, UserPicturesResolver, ProfilePicturesResolver]);
    for (const type of ['User', 'Profile']) {
      const { photo, picture } = assertObjectType(schema.getType(type)).getFields();
      for (const field of [photo, picture]) {
        expect(String(field?.type)).toBe('String');
        expect(field?.args.map((argument) => `${argument.name}: ${String(argument.type)}`)).toEqual([
          'size: Int',
        ]);
        expect(field?.extensions).toMatchObject({ access: { kind: 'inherited' }, dependsOn: ['period'] });
      }
    }
  });
});
