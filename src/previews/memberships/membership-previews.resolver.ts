import { Args, Context, Resolver } from '@nestjs/graphql';
import type { RequestContext } from '../../graphql/http/request-context.js';
import { Preview } from '../preview.decorator.js';
import {
  AddGroupMemberInput,
  RemoveGroupMemberInput,
  UpdateGroupMemberInput,
  AddGroupMemberPayload,
  RemoveGroupMemberPayload,
  UpdateGroupMemberPayload,
} from './membership-change.model.js';
import { MembershipPreviewsService } from './membership-previews.service.js';

@Resolver()
export class MembershipPreviewsResolver {
  constructor(private readonly previews: MembershipPreviewsService) {}

  @Preview(
    AddGroupMemberPayload,
    'Previews the addition of a user to a group. Requires the role OWNER in the group, or ADMIN to add a ' +
      'MEMBER, or the scope directory. CONFLICT if the group names the user already.',
  )
  addGroupMember(
    @Args('input', { description: 'The user, the group and the role.' }) input: AddGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<AddGroupMemberPayload> {
    return this.previews.addGroupMember(input, context);
  }

  @Preview(
    UpdateGroupMemberPayload,
    'Previews a new role of a member. Requires the role OWNER in the group, or the scope directory. CONFLICT ' +
      'if the user belongs to the group only through another group.',
  )
  updateGroupMember(
    @Args('input', { description: 'The member, the group and the new role.' })
    input: UpdateGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<UpdateGroupMemberPayload> {
    return this.previews.updateGroupMember(input, context);
  }

  @Preview(
    RemoveGroupMemberPayload,
    'Previews the removal of a member from a group. Requires the role OWNER in the group, or ADMIN to remove ' +
      'a MEMBER, or the scope directory. CONFLICT for the last member, and if the user belongs to the group ' +
      'only through another group.',
  )
  removeGroupMember(
    @Args('input', { description: 'The member to remove and the group to remove them from.' })
    input: RemoveGroupMemberInput,
    @Context() context: RequestContext,
  ): Promise<RemoveGroupMemberPayload> {
    return this.previews.removeGroupMember(input, context);
  }
}
