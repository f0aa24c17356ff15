import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/model/mapping.js';
import { CONFIG } from '../../config/config.module.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { Profile, type User } from '../../users/user.model.js';
import { UsersService } from '../../users/users.service.js';
import { applyChange, previewOf } from '../apply-change.js';
import type { ChangePayload } from '../change.model.js';
import { MirroredEntries } from '../mirrored-entries.js';
import type { MirroredPerson } from '../mirrored-entries.queries.js';
import { canUpdateProfile } from '../policy.js';
import { changesOfFields } from '../previewed-changes.js';
import { callerOf, noUserContext, type PreviewContext } from '../rights.js';
import type {
  UpdateProfileInput,
  UpdateUserInput,
  UpdateProfilePayload,
  UpdateUserPayload,
} from './user-change.model.js';
import { valuesBeside } from '../shared-attributes.js';
import { changePerson } from '../text-record.js';
import { validateClientMutationId, validateChange, withChange } from '../validate.js';

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
    const person = await this.entries.findActor(transaction, principal);
    if (!canUpdateProfile(person)) throw noUserContext('there is no profile to change');
    const { user, ...payload } = await this.update(person, input, caller, 'profile');
    return { ...payload, profile: new Profile(user) };
  }

  /**
   * Requires only the scopes of the field.
   * @throws ServiceError NOT_FOUND, BAD_USER_INPUT or CONFLICT
   */
  async updateUser(input: UpdateUserInput, context: RequestContext): Promise<UpdateUserPayload> {
    const caller = callerOf(context);
    return this.update(await this.entries.getPerson(caller, input.user, 'user'), input, caller, 'user');
  }

  private async update(
    { value, contentHash }: MirroredPerson,
    input: UpdateProfileInput | UpdateUserInput,
    { transaction, principal }: PreviewContext,
    object: 'user' | 'profile',
  ): Promise<ChangePayload & { user: User }> {
    const { fields } = this.mapping.users;
    const clientMutationId = validateClientMutationId(input);
    const change = validateChange(input, fields);
    const { record, sourceValues } = changePerson(value, change, this.mapping.users);
    const beside = valuesBeside(change, fields, record);
    const changed = { ...withChange(value, change, fields), ...beside, sourceValues };
    await applyChange(transaction, { updatedPeople: [{ value: changed, contentHash }] }, this.mapping);
    const user = await this.users.get({ id: value.id }, 'user', transaction);
    const changes = changesOfFields(object, fields, { before: value, after: changed, beside }, principal);
    return { clientMutationId, preview: await previewOf(transaction, [record], changes), user };
  }
}
