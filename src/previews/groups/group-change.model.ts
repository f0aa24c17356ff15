import { Field, ID, ObjectType, InputType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group, GroupInput } from '../../groups/group.model.js';
import { ChangePayload, ChangeInput, changeInputsOf, newInputsOf } from '../change.model.js';
import { DeriveFields } from '../../graphql/schema/derived-fields.js';

@ObjectType({ description: 'The result of `createGroup`.' })
export class CreateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group as it would be after the change.' })
  group!: Group;
}

@ObjectType({ description: 'The result of `updateGroup`.' })
export class UpdateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group as it would be after the change.' })
  group!: Group;
}

@ObjectType({ description: 'The result of `deleteGroup`.' })
export class DeleteGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => ID, { description: 'The id of the group that would be deleted.' })
  deletedGroupId!: string;
}

@DeriveFields(({ directory }) => newInputsOf(directory.mapping.groups.fields))
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

@DeriveFields(({ directory }) => changeInputsOf(directory.mapping.groups.fields, ['owner']))
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
