import { Field, ID, InputType, ObjectType } from '@nestjs/graphql';
import { DeriveFields } from '../graphql/schema/derived-fields.js';
import { Group, GroupInput, GroupRole } from '../groups/group.model.js';
import { GroupMembership } from '../memberships/membership.model.js';
import { Profile, User, UserInput } from '../users/user.model.js';
import { ChangeInput, ChangePayload, inputsOf, Shown } from './change.model.js';

@ObjectType({ description: 'The result of `updateProfile`.' })
export class UpdateProfilePayload extends ChangePayload {
  @Shown(() => Profile, 'The profile as it would be after the change.', { nullable: true })
  profile!: Profile;
}

@ObjectType({ description: 'The result of `updateUser`.' })
export class UpdateUserPayload extends ChangePayload {
  @Shown(() => User, 'The user as they would be after the change.', { nullable: true })
  user!: User;
}

@ObjectType({ isAbstract: true })
abstract class GroupPayload extends ChangePayload {
  @Shown(() => Group, 'The group as it would be after the change.', { nullable: true })
  group!: Group;
}

@ObjectType({ description: 'The result of `createGroup`.' })
export class CreateGroupPayload extends GroupPayload {}

@ObjectType({ description: 'The result of `updateGroup`.' })
export class UpdateGroupPayload extends GroupPayload {}

@ObjectType({ description: 'The result of `deleteGroup`.' })
export class DeleteGroupPayload extends ChangePayload {
  @Shown(() => ID, 'The id of the group that would be deleted.', { nullable: true })
  deletedGroupId!: string;
}

@ObjectType({ isAbstract: true })
abstract class MembershipPayload extends ChangePayload {
  @Shown(
    () => GroupMembership,
    'The membership as it would be after the change. `role.value` is higher than the requested role if the ' +
      'user has a higher role through another group.',
    { nullable: true },
  )
  membership!: GroupMembership;
}

@ObjectType({ description: 'The result of `addGroupMember`.' })
export class AddGroupMemberPayload extends MembershipPayload {}

@ObjectType({ description: 'The result of `updateGroupMember`.' })
export class UpdateGroupMemberPayload extends MembershipPayload {}

@ObjectType({ description: 'The result of `removeGroupMember`.' })
export class RemoveGroupMemberPayload extends ChangePayload {
  @Shown(
    () => Group,
    'The group as it would be after the change. The user still belongs to it if they are a member through ' +
      'another group.',
    { nullable: true },
  )
  group!: Group;
}

@DeriveFields(({ directory }) => inputsOf(directory.mapping.users.fields, ['self']))
@InputType({ description: 'The changes to the user for whom the token acts. At least one is required.' })
export class UpdateProfileInput extends ChangeInput {
  [field: string]: unknown;
}

@DeriveFields(({ directory }) => inputsOf(directory.mapping.users.fields, ['self', 'administrator']))
@InputType({ description: 'A user and the changes to it. At least one is required.' })
export class UpdateUserInput extends ChangeInput {
  [field: string]: unknown;

  @Field(() => UserInput, { description: 'The user to change.' })
  user!: UserInput;
}

@DeriveFields(({ directory }) => inputsOf(directory.mapping.groups.fields, ['owner'], true))
@InputType({ description: 'A new group. The user for whom the token acts becomes its owner.' })
export class CreateGroupInput extends ChangeInput {
  [field: string]: unknown;

  @Field(() => String, {
    description:
      'The id: 1 to 256 ASCII letters, digits, dots, hyphens and underscores, beginning with a letter or a ' +
      'digit. It is unique; case is ignored. It is part of URLs and cannot be changed later.',
  })
  id!: string;

  @Field(() => GroupInput, {
    nullable: true,
    description:
      'A group to which the new group is added as a member. Its members then belong to that group too.',
  })
  parent?: GroupInput | null;
}

@DeriveFields(({ directory }) => inputsOf(directory.mapping.groups.fields, ['owner']))
@InputType({ description: 'A group and the changes to it. At least one is required.' })
export class UpdateGroupInput extends ChangeInput {
  [field: string]: unknown;

  @Field(() => GroupInput, { description: 'The group to change.' })
  group!: GroupInput;
}

@InputType({ description: 'A group to delete.' })
export class DeleteGroupInput extends ChangeInput {
  @Field(() => GroupInput, {
    description: 'The group to delete. Its members and the groups inside it stay in the directory.',
  })
  group!: GroupInput;
}

/** Identifies the user and the group of a membership. */
@InputType({ isAbstract: true })
export abstract class MembershipChangeInput extends ChangeInput {
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
