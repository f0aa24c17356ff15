import { Field, InputType } from '@nestjs/graphql';

@InputType({ description: 'Identifies a group.' })
export class GroupInput {
  @Field(() => String, { description: 'The id of the group. Case is ignored.' })
  id!: string;
}
