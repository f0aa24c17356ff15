import { Field, ObjectType, registerEnumType } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import { type ExpectedFailure, UserErrorCode } from '../graphql/schema/user-errors.js';

registerEnumType(UserErrorCode, {
  name: 'UserErrorCode',
  description: 'The failures of a mutation that a client can foresee.',
  valuesMap: {
    BAD_USER_INPUT: { description: 'A value of the input is not valid, or nothing would change.' },
    CONFLICT: { description: 'The directory would reject or misunderstand the change.' },
    FORBIDDEN: { description: 'The user for whom the token acts may not make the change.' },
    NOT_FOUND: { description: 'An object that the input names does not exist.' },
  },
});

@ObjectType({ description: 'An expected failure of a mutation.' })
export class UserError implements ExpectedFailure {
  @InheritAccess()
  @Field(() => UserErrorCode, { description: 'The kind of the failure.' })
  code!: UserErrorCode;

  @InheritAccess()
  @Field(() => String, { description: 'The failure in English, for people. It may change.' })
  message!: string;

  @InheritAccess()
  @Field(() => [String], {
    description:
      'The names that lead from the arguments of the mutation to the rejected value, such as `input`, `email`.',
  })
  path!: string[];
}
