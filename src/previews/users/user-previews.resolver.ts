import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../../auth/access.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { UpdateProfileInput, UpdateUserInput } from './user-change.inputs.js';
import { UpdateProfilePayload, UpdateUserPayload } from './user-change.model.js';
import { UserPreviewsService } from './user-previews.service.js';

@Resolver()
export class UserPreviewsResolver {
  constructor(private readonly previews: UserPreviewsService) {}

  @RequireScopes('profile', 'write')
  @Mutation(() => UpdateProfilePayload, {
    nullable: true,
    description:
      'Changes the person that the token acts for; NO_USER_CONTEXT when it acts for nobody. A preview, like all mutations.',
  })
  updateProfile(
    @Args('input', { description: 'What is to change.' }) input: UpdateProfileInput,
    @Context() context: RequestContext,
  ): Promise<UpdateProfilePayload> {
    return this.previews.updateProfile(input, context);
  }

  @RequireScopes('directory', 'write')
  @Mutation(() => UpdateUserPayload, {
    nullable: true,
    description: 'Changes a person, for administrators; NOT_FOUND when nobody has the id.',
  })
  updateUser(
    @Args('input', { description: 'Who, and what is to change.' }) input: UpdateUserInput,
    @Context() context: RequestContext,
  ): Promise<UpdateUserPayload> {
    return this.previews.updateUser(input, context);
  }
}
