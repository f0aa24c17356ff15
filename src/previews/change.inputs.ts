import { Field, InputType } from '@nestjs/graphql';

/** What the input of every mutation has. */
@InputType({ isAbstract: true })
export abstract class ChangeInput {
  @Field(() => String, {
    nullable: true,
    description:
      'Anything that helps you to tell answers apart, up to 256 characters: it comes back as it is.',
  })
  clientMutationId?: string | null;
}
