import { Args, Context, Resolver } from '@nestjs/graphql';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { Preview } from '../preview.decorator.js';
import {
  CreateGroupInput,
  DeleteGroupInput,
  UpdateGroupInput,
  CreateGroupPayload,
  DeleteGroupPayload,
  UpdateGroupPayload,
} from './group-change.model.js';
import { GroupPreviewsService } from './group-previews.service.js';

@Resolver()
export class GroupPreviewsResolver {
  constructor(private readonly previews: GroupPreviewsService) {}

  @Preview(
    CreateGroupPayload,
    'Previews a new group. Creating it inside another group requires the role ADMIN or OWNER in that group, ' +
      'or the scope directory. CONFLICT if the id is taken.',
  )
  createGroup(
    @Args('input', { description: 'The new group.' }) input: CreateGroupInput,
    @Context() context: RequestContext,
  ): Promise<CreateGroupPayload> {
    return this.previews.createGroup(input, context);
  }

  @Preview(
    UpdateGroupPayload,
    'Previews changes to the attributes of a group. Requires the role OWNER in the group, or the scope ' +
      'directory; otherwise FORBIDDEN. NOT_FOUND if no group has the id.',
  )
  updateGroup(
    @Args('input', { description: 'The group and its changes.' }) input: UpdateGroupInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupPayload> {
    return this.previews.updateGroup(input, context);
  }

  @Preview(
    DeleteGroupPayload,
    'Previews the deletion of a group and its removal from the groups that contain it. Requires the role ' +
      'OWNER in the group, or the scope directory. CONFLICT if it is the last member of one of these groups.',
  )
  deleteGroup(
    @Args('input', { description: 'The group.' }) input: DeleteGroupInput,
    @Context() context: RequestContext,
  ): Promise<DeleteGroupPayload> {
    return this.previews.deleteGroup(input, context);
  }
}
