import { Field, ObjectType, InputType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Profile, User, UserInput } from '../../users/user.model.js';
import { ChangePayload, ChangeInput, changeInputsOf } from '../change.model.js';
import { DeriveFields } from '../../graphql/schema/derived-fields.js';

@ObjectType({ description: 'The result of `updateProfile`.' })
export class UpdateProfilePayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Profile, { description: 'The profile as it would be after the change.' })
  profile!: Profile;
}

@ObjectType({ description: 'The result of `updateUser`.' })
export class UpdateUserPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => User, { description: 'The user as they would be after the change.' })
  user!: User;
}

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
