import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import type { DirectoryMapping } from '../../config/settings/directory.js';
import { CONFIG } from '../../config/config.module.js';
import type { Overlay } from '../../database/statements/preview-transaction.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { Profile } from '../../users/profile.model.js';
import type { User } from '../../users/user.model.js';
import { UsersService } from '../../users/users.service.js';
import { applyChange, previewOf } from '../apply-change.js';
import type { ChangePayload } from '../change.model.js';
import { findActor, getPerson } from '../mirrored-entries.js';
import type { MirroredPerson } from '../mirrored-entries.queries.js';
import { canUpdateProfile } from '../policy.js';
import { callerOf, noUserContext } from '../rights.js';
import type { UpdateProfileInput, UpdateUserInput } from './user-change.inputs.js';
import type { UpdateProfilePayload, UpdateUserPayload } from './user-change.model.js';
import { changePerson } from './user-record.js';
import { validateClientMutationId, validatePersonChange } from '../validate.js';
import { withChange } from '../with-change.js';

/** Changes of people. */
@Injectable()
export class UserPreviewsService {
  private readonly mapping: DirectoryMapping['people'];

  constructor(
    @Inject(CONFIG) { directory }: Config,
    private readonly users: UsersService,
  ) {
    this.mapping = directory.mapping.people;
  }

  /** @throws ServiceError NO_USER_CONTEXT, BAD_USER_INPUT or CONFLICT */
  async updateProfile(input: UpdateProfileInput, context: RequestContext): Promise<UpdateProfilePayload> {
    const { overlay, principal } = callerOf(context);
    const person = await findActor(overlay, principal);
    if (!canUpdateProfile(person)) throw noUserContext('there is no profile to change');
    const { user, ...payload } = await this.update(person, input, overlay);
    return { ...payload, profile: new Profile(user) };
  }

  /**
   * The scopes of the field are all that it takes.
   * @throws ServiceError NOT_FOUND, BAD_USER_INPUT or CONFLICT
   */
  async updateUser(input: UpdateUserInput, context: RequestContext): Promise<UpdateUserPayload> {
    const caller = callerOf(context);
    return this.update(await getPerson(caller, input.user, 'user'), input, caller.overlay);
  }

  private async update(
    { value, contentHash }: MirroredPerson,
    input: UpdateProfileInput | UpdateUserInput,
    overlay: Overlay,
  ): Promise<ChangePayload & { user: User }> {
    const clientMutationId = validateClientMutationId(input);
    const change = validatePersonChange(input);
    const { record, sourceValues } = changePerson(value, change, this.mapping);
    const changed = { ...withChange(value, change), sourceValues };
    await applyChange(overlay, { updatedPeople: [{ value: changed, contentHash }] });
    const user = await this.users.get({ id: value.id }, 'user', overlay);
    return { clientMutationId, preview: await previewOf(overlay, [record]), user };
  }
}
