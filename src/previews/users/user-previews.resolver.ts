import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../../auth/access.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { ADMINISTRATOR_SCOPES } from '../policy.js';
import {
  UpdateProfileInput,
  UpdateUserInput,
  UpdateProfilePayload,
  UpdateUserPayload,
} from './user-change.model.js';
import { UserPreviewsService } from './user-previews.service.js';

@Resolver()
export class UserPreviewsResolver {
  constructor(private readonly previews: UserPreviewsService) {}

  @RequireScopes('profile', 'write')
  @Mutation(() => UpdateProfilePayload, {
    nullable: true,
    description:
      'Previews changes to the user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of ' +
      'the directory.',
  })
  updateProfile(
    @Args('input', { description: 'The changes.' }) input: UpdateProfileInput,
    @Context() context: RequestContext,
  ): Promise<UpdateProfilePayload> {
    return this.previews.updateProfile(input, context);
  }

  @RequireScopes(...ADMINISTRATOR_SCOPES)
  @Mutation(() => UpdateUserPayload, {
    nullable: true,
    description: 'Previews changes to a user. NOT_FOUND if no user has the id.',
  })
  updateUser(
    @Args('input', { description: 'The user and their changes.' }) input: UpdateUserInput,
    @Context() context: RequestContext,
  ): Promise<UpdateUserPayload> {
    return this.previews.updateUser(input, context);
  }
}
