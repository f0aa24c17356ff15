import { Field, InputType } from '@nestjs/graphql';
import { UserInput } from '../../users/user.inputs.js';
import { ChangeInput } from '../change.inputs.js';

const UNCHANGED = 'Left out: it stays as it is.';
const REMOVABLE = `null or an empty text removes it. ${UNCHANGED}`;

/** What may be changed of oneself and of others. */
@InputType({ isAbstract: true })
abstract class PersonChangeInput extends ChangeInput {
  @Field(() => String, {
    nullable: true,
    description: `The new given name, up to 512 characters; ${REMOVABLE}`,
  })
  givenName?: string | null;

  @Field(() => String, {
    nullable: true,
    description: `The new family name, up to 512 characters. It cannot be removed. ${UNCHANGED}`,
  })
  familyName?: string | null;

  @Field(() => String, {
    nullable: true,
    description: `The new full name, up to 512 characters. It cannot be removed. ${UNCHANGED}`,
  })
  name?: string | null;

  @Field(() => String, {
    nullable: true,
    description: `The new e-mail address: one, in ASCII, up to 254 characters; ${REMOVABLE}`,
  })
  email?: string | null;
}

@InputType({ description: 'What is to change of the person that the token acts for: at least one thing.' })
export class UpdateProfileInput extends PersonChangeInput {}

@InputType({ description: 'Which person, and what of them is to change: at least one thing.' })
export class UpdateUserInput extends PersonChangeInput {
  @Field(() => UserInput, { description: 'Which person.' })
  user!: UserInput;

  @Field(() => String, {
    nullable: true,
    description: `The new school year, such as 2B, up to 64 characters; ${REMOVABLE}`,
  })
  schoolYear?: string | null;
}
