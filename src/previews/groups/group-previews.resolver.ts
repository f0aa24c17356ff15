import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../../auth/access.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { CreateGroupInput, DeleteGroupInput, UpdateGroupInput } from './group-change.inputs.js';
import { CreateGroupPayload, DeleteGroupPayload, UpdateGroupPayload } from './group-change.model.js';
import { GroupPreviewsService } from './group-previews.service.js';

@Resolver()
export class GroupPreviewsResolver {
  constructor(private readonly previews: GroupPreviewsService) {}

  @RequireScopes('write')
  @Mutation(() => CreateGroupPayload, {
    nullable: true,
    description:
      'Makes a group, for anybody of the directory, and inside another one for those who are at least ADMIN there; ' +
      'CONFLICT when the id is taken.',
  })
  createGroup(
    @Args('input', { description: 'What the group is to be.' }) input: CreateGroupInput,
    @Context() context: RequestContext,
  ): Promise<CreateGroupPayload> {
    return this.previews.createGroup(input, context);
  }

  @RequireScopes('write')
  @Mutation(() => UpdateGroupPayload, {
    nullable: true,
    description:
      'Changes what a group is about, for its owners; FORBIDDEN to others, NOT_FOUND when none has the id.',
  })
  updateGroup(
    @Args('input', { description: 'Which group, and what is to change.' }) input: UpdateGroupInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupPayload> {
    return this.previews.updateGroup(input, context);
  }

  @RequireScopes('write')
  @Mutation(() => DeleteGroupPayload, {
    nullable: true,
    description:
      'Deletes a group, for its owners, and takes it out of the groups that contain it; CONFLICT when it is the last ' +
      'member of one of them.',
  })
  deleteGroup(
    @Args('input', { description: 'Which group.' }) input: DeleteGroupInput,
    @Context() context: RequestContext,
  ): Promise<DeleteGroupPayload> {
    return this.previews.deleteGroup(input, context);
  }
}
