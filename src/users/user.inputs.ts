import { Field, InputType } from '@nestjs/graphql';

@InputType({ description: 'Names a person.' })
export class UserInput {
  @Field(() => String, { description: 'The id of the person; case does not matter.' })
  id!: string;
}
