import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';
import { RequireScopes } from '../../auth/access.js';
import type { RequestContext } from '../../graphql/http/request-context.js';
import {
  AddGroupMemberInput,
  RemoveGroupMemberInput,
  UpdateGroupMemberInput,
} from './membership-change.inputs.js';
import {
  AddGroupMemberPayload,
  RemoveGroupMemberPayload,
  UpdateGroupMemberPayload,
} from './membership-change.model.js';
import { MembershipPreviewsService } from './membership-previews.service.js';

@Resolver()
export class MembershipPreviewsResolver {
  constructor(private readonly previews: MembershipPreviewsService) {}

  @RequireScopes('write')
  @Mutation(() => AddGroupMemberPayload, {
    nullable: true,
    description:
      'Names somebody in a group, for those who are at least ADMIN in it, and as more than MEMBER for its owners; ' +
      'CONFLICT when the group names them already.',
  })
  addGroupMember(
    @Args('input', { description: 'Who, in which group, as what.' }) input: AddGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<AddGroupMemberPayload> {
    return this.previews.addGroupMember(input, context);
  }

  @RequireScopes('write')
  @Mutation(() => UpdateGroupMemberPayload, {
    nullable: true,
    description:
      'Names somebody in a group as something else, for its owners; CONFLICT when they are only in it through ' +
      'another group.',
  })
  updateGroupMember(
    @Args('input', { description: 'Who, in which group, as what from now on.' })
    input: UpdateGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupMemberPayload> {
    return this.previews.updateGroupMember(input, context);
  }

  @RequireScopes('write')
  @Mutation(() => RemoveGroupMemberPayload, {
    nullable: true,
    description:
      'Takes a person out of a group, a MEMBER for those who are at least ADMIN in it, others for its owners; ' +
      'CONFLICT for the last member, and for whoever is only in it through another group.',
  })
  removeGroupMember(
    @Args('input', { description: 'Who, out of which group.' }) input: RemoveGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<RemoveGroupMemberPayload> {
    return this.previews.removeGroupMember(input, context);
  }
}
