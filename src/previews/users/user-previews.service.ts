import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { CONFIG } from '../../config/config.module.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { Profile, type User } from '../../users/user.model.js';
import { UsersService } from '../../users/users.service.js';
import { changeUser, previewOf } from '../apply-change.js';
import type { ChangePayload } from '../change.model.js';
import { MirroredEntries } from '../mirrored-entries.js';
import type { MirroredUser } from '../mirrored-entries.queries.js';
import { canUpdateProfile } from '../policy.js';
import { changesOfFields } from '../previewed-changes.js';
import { callerOf, noUserContext, type PreviewContext } from '../rights.js';
import type {
  UpdateProfileInput,
  UpdateUserInput,
  UpdateProfilePayload,
  UpdateUserPayload,
} from './user-change.model.js';
import { changePerson } from '../text-record.js';
import { validateClientMutationId, validateChange } from '../validate.js';

@Injectable()
export class UserPreviewsService {
  private readonly mapping: DirectoryMapping;

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly entries: MirroredEntries,
    private readonly users: UsersService,
  ) {
    this.mapping = directory.mapping;
  }

  /** @throws ServiceError NO_USER_CONTEXT, BAD_USER_INPUT or CONFLICT */
  async updateProfile(input: UpdateProfileInput, context: RequestContext): Promise<UpdateProfilePayload> {
    const caller = callerOf(context);
    const { transaction, principal } = caller;
    const actor = await this.entries.findActor(transaction, principal);
    if (!canUpdateProfile(actor)) throw noUserContext('there is no profile to change');
    const { user, ...payload } = await this.update(actor, input, caller, 'profile');
    return { ...payload, profile: new Profile(user) };
  }

  /**
   * Requires only the scopes of the field.
   * @throws ServiceError NOT_FOUND, BAD_USER_INPUT or CONFLICT
   */
  async updateUser(input: UpdateUserInput, context: RequestContext): Promise<UpdateUserPayload> {
    const caller = callerOf(context);
    return this.update(await this.entries.getUser(caller, input.user, 'user'), input, caller, 'user');
  }

  private async update(
    before: MirroredUser,
    input: UpdateProfileInput | UpdateUserInput,
    { transaction, principal }: PreviewContext,
    object: 'user' | 'profile',
  ): Promise<ChangePayload & { user: User }> {
    const { fields } = this.mapping.users;
    const clientMutationId = validateClientMutationId(input);
    const change = validateChange(input, fields);
    const { record, attributes } = changePerson(before, before.values, change, this.mapping.users);
    await changeUser(transaction, before, attributes, this.mapping);
    const user = await this.users.get({ id: before.id }, 'user', transaction);
    const after = await this.entries.getChanged(transaction, before.id);
    const changes = changesOfFields(
      object,
      fields,
      { before: before.values, after: after.values },
      principal,
    );
    return { clientMutationId, preview: await previewOf(transaction, [record], changes), user };
  }
}
