import { Args, Context, Resolver } from '@nestjs/graphql';
import type { RequestContext } from '../graphql/http/request-context.js';
import { Profile, type User } from '../users/user.model.js';
import { UsersService } from '../users/users.service.js';
import { Preview } from './change.model.js';
import {
  UpdateProfileInput,
  UpdateProfilePayload,
  UpdateUserInput,
  UpdateUserPayload,
} from './mutations.model.js';
import { type Caller, callerOf, PreviewedMirror } from './previewed-mirror.js';
import type { MirroredEntry } from './records.js';
import { ADMINISTRATOR_SCOPES, noUserContext } from './rights.js';

@Resolver()
export class UserPreviewsResolver {
  constructor(
    private readonly mirror: PreviewedMirror,
    private readonly users: UsersService,
  ) {}

  @Preview(
    UpdateProfilePayload,
    'Previews changes to the user for whom the token acts. NO_USER_CONTEXT if the token acts for no user of ' +
      'the directory.',
    ['profile', 'write'],
  )
  async updateProfile(
    @Args('input', { description: 'The changes.' }) input: UpdateProfileInput,
    @Context() context: RequestContext,
  ): Promise<UpdateProfilePayload> {
    const caller = callerOf(context);
    const actor = await this.mirror.findActor(caller);
    if (actor === null) throw noUserContext('there is no profile to change');
    const preview = await this.mirror.changeFields(caller, actor, input, 'profile');
    return { preview, profile: new Profile(await this.read(caller, actor)) };
  }

  @Preview(
    UpdateUserPayload,
    'Previews changes to a user. NOT_FOUND if no user has the id.',
    ADMINISTRATOR_SCOPES,
  )
  async updateUser(
    @Args('input', { description: 'The user and their changes.' }) input: UpdateUserInput,
    @Context() context: RequestContext,
  ): Promise<UpdateUserPayload> {
    const caller = callerOf(context);
    const user = await this.mirror.getUser(caller, input.user, 'user');
    const preview = await this.mirror.changeFields(caller, user, input, 'user');
    return { preview, user: await this.read(caller, user) };
  }

  private read({ transaction }: Caller, { id }: MirroredEntry): Promise<User> {
    return this.users.get({ id }, 'user', transaction);
  }
}
