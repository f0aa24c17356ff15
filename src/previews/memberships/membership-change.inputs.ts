import { Field, InputType } from '@nestjs/graphql';
import { GroupInput } from '../../groups/group.model.js';
import { GroupRole } from '../../groups/group-role.js';
import { UserInput } from '../../users/user.model.js';
import { ChangeInput } from '../change.inputs.js';

/** Identifies the user and the group of a membership. */
@InputType({ isAbstract: true })
abstract class MembershipChangeInput extends ChangeInput {
  @Field(() => GroupInput, { description: 'Which group.' })
  group!: GroupInput;

  @Field(() => UserInput, { description: 'Which person.' })
  user!: UserInput;
}

@InputType({ description: 'Who is to be named in which group, and as what.' })
export class AddGroupMemberInput extends MembershipChangeInput {
  @Field(() => GroupRole, { defaultValue: GroupRole.MEMBER, description: 'As what.' })
  role!: GroupRole;
}

@InputType({ description: 'Who, named in which group, is to be named as what.' })
export class UpdateGroupMemberInput extends MembershipChangeInput {
  @Field(() => GroupRole, { description: 'As what from now on.' })
  role!: GroupRole;
}

@InputType({ description: 'Who is not to be named in which group any more.' })
export class RemoveGroupMemberInput extends MembershipChangeInput {}
