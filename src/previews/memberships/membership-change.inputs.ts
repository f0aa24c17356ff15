import { Field, InputType } from '@nestjs/graphql';
import { GroupInput, GroupRole } from '../../groups/group.model.js';
import { UserInput } from '../../users/user.model.js';
import { ChangeInput } from '../change.inputs.js';

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
