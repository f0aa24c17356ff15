import { Field, ObjectType, InputType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group, GroupInput, GroupRole } from '../../groups/group.model.js';
import { GroupMembership } from '../../memberships/membership.model.js';
import { ChangePayload, ChangeInput } from '../change.model.js';
import { UserInput } from '../../users/user.model.js';

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

/** Identifies the user and the group of a membership. */
@InputType({ isAbstract: true })
abstract class MembershipChangeInput extends ChangeInput {
  @Field(() => GroupInput, { description: 'The group.' })
  group!: GroupInput;

  @Field(() => UserInput, { description: 'The user.' })
  user!: UserInput;
}

@InputType({ description: 'The user to add, the group to add them to, and their role.' })
export class AddGroupMemberInput extends MembershipChangeInput {
  @Field(() => GroupRole, {
    defaultValue: GroupRole.MEMBER,
    description: 'The role of the user in the group.',
  })
  role!: GroupRole;
}

@InputType({ description: 'The member to change, the group, and the new role.' })
export class UpdateGroupMemberInput extends MembershipChangeInput {
  @Field(() => GroupRole, { description: 'The new role of the member.' })
  role!: GroupRole;
}

@InputType({ description: 'The member to remove, and the group to remove them from.' })
export class RemoveGroupMemberInput extends MembershipChangeInput {}
