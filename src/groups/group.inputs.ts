import { Field, InputType } from '@nestjs/graphql';

@InputType({ description: 'Names a group.' })
export class GroupInput {
  @Field(() => String, { description: 'The id of the group; case does not matter.' })
  id!: string;
}
