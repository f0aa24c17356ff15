import { Field, InputType } from '@nestjs/graphql';

@InputType({ description: 'Identifies a user.' })
export class UserInput {
  @Field(() => String, { description: 'The id of the user. Case is ignored.' })
  id!: string;
}
