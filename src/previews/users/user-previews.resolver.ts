import { Args, Context, Resolver } from '@nestjs/graphql';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { ADMINISTRATOR_SCOPES } from '../policy.js';
import { Preview } from '../preview.decorator.js';
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

  @Preview(
    UpdateProfilePayload,
    'Previews changes to the user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of ' +
      'the directory.',
    ['profile', 'write'],
  )
  updateProfile(
    @Args('input', { description: 'The changes.' }) input: UpdateProfileInput,
    @Context() context: RequestContext,
  ): Promise<UpdateProfilePayload> {
    return this.previews.updateProfile(input, context);
  }

  @Preview(
    UpdateUserPayload,
    'Previews changes to a user. NOT_FOUND if no user has the id.',
    ADMINISTRATOR_SCOPES,
  )
  updateUser(
    @Args('input', { description: 'The user and their changes.' }) input: UpdateUserInput,
    @Context() context: RequestContext,
  ): Promise<UpdateUserPayload> {
    return this.previews.updateUser(input, context);
  }
}
