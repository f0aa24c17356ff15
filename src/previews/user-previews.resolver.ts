import { Inject } from '@nestjs/common';
import { Args, Context, Resolver } from '@nestjs/graphql';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
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
import { PreviewedMirror } from './previewed-mirror.js';
import type { MirroredEntry } from './records.js';
import { ADMINISTRATOR_SCOPES, noUserContext } from './rights.js';

@Resolver()
export class UserPreviewsResolver {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
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
    const mirror = new PreviewedMirror(context, this.config);
    const actor = await mirror.findActor();
    if (actor === null) throw noUserContext('there is no profile to change');
    const preview = await mirror.changeFields(actor, input, 'profile');
    return { preview, profile: new Profile(await this.read(context, actor)) };
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
    const mirror = new PreviewedMirror(context, this.config);
    const user = await mirror.getUser(input.user, 'user');
    const preview = await mirror.changeFields(user, input, 'user');
    return { preview, user: await this.read(context, user) };
  }

  private read({ previewTransaction: transaction }: RequestContext, { id }: MirroredEntry): Promise<User> {
    return this.users.get({ id }, 'user', transaction);
  }
}
