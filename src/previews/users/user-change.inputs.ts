import { Field, InputType } from '@nestjs/graphql';
import { DeriveFields } from '../../graphql/schema/derived-fields.js';
import { UserInput } from '../../users/user.model.js';
import { ChangeInput, changeInputsOf } from '../change.inputs.js';

@DeriveFields(({ directory }) => changeInputsOf(directory.mapping.users.fields, ['self']))
@InputType({ description: 'The changes to the user for whom the token acts. At least one is required.' })
export class UpdateProfileInput extends ChangeInput {
  [field: string]: unknown;
}

@DeriveFields(({ directory }) => changeInputsOf(directory.mapping.users.fields, ['self', 'administrator']))
@InputType({ description: 'A user and the changes to it. At least one is required.' })
export class UpdateUserInput extends ChangeInput {
  [field: string]: unknown;

  @Field(() => UserInput, { description: 'The user to change.' })
  user!: UserInput;
}
