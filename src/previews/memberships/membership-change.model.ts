import { Field, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group } from '../../groups/group.model.js';
import { GroupMembership } from '../../memberships/membership.model.js';
import { ChangePayload } from '../change.model.js';

const MEMBERSHIP =
  'The person in the group, as they would be: `role.value` is higher than what was asked for where another group ' +
  'gives them more.';

@ObjectType({ description: 'What `addGroupMember` would do.' })
export class AddGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => GroupMembership, { description: MEMBERSHIP })
  membership!: GroupMembership;
}

@ObjectType({ description: 'What `updateGroupMember` would do.' })
export class UpdateGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => GroupMembership, { description: MEMBERSHIP })
  membership!: GroupMembership;
}

@ObjectType({ description: 'What `removeGroupMember` would do.' })
export class RemoveGroupMemberPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, {
    description: 'The group, as it would be. The person is still in it where another group has them.',
  })
  group!: Group;
}
