import { Field, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group } from '../../groups/group.model.js';
import { GroupMembership } from '../../memberships/membership.model.js';
import { ChangePayload } from '../change.model.js';

const MEMBERSHIP =
  'The membership as it would be after the change. `role.value` is higher than the requested role if the ' +
  'user has a higher role through another group.';

@ObjectType({ description: 'The result of `addGroupMember`.' })
export class AddGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => GroupMembership, { description: MEMBERSHIP })
  membership!: GroupMembership;
}

@ObjectType({ description: 'The result of `updateGroupMember`.' })
export class UpdateGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => GroupMembership, { description: MEMBERSHIP })
  membership!: GroupMembership;
}

@ObjectType({ description: 'The result of `removeGroupMember`.' })
export class RemoveGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, {
    description:
      'The group as it would be after the change. The user still belongs to it if they are a member through ' +
      'another group.',
  })
  group!: Group;
}
