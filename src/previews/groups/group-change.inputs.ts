import { Field, InputType } from '@nestjs/graphql';
import { DeriveFields } from '../../graphql/schema/derived-fields.js';
import { GroupInput } from '../../groups/group.model.js';
import { ChangeInput, changeInputsOf, newInputsOf } from '../change.inputs.js';

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
