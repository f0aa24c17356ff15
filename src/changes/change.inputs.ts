import { ArgsType, Field, InputType } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { GroupInput } from '../groups/group.inputs.js';
import { UserInput } from '../users/user.inputs.js';
import { ChangeKind } from './change-kind.js';

@InputType({ description: 'Which changes are meant: all conditions have to hold.' })
export class ChangeFilter {
  @Field(() => [ChangeKind], { nullable: true, description: 'By kind; without it, all kinds.' })
  kinds?: ChangeKind[] | null;

  @Field(() => UserInput, {
    nullable: true,
    description:
      'Those about this person, under whatever id at the time. Somebody who is gone is named by their last id.',
  })
  user?: UserInput | null;

  @Field(() => GroupInput, {
    nullable: true,
    description: 'Those about this group or somebody in it. A group that is gone is named by its last id.',
  })
  group?: GroupInput | null;

  @Field(() => DateTime, { nullable: true, description: 'Those taken over at this instant or later.' })
  since?: Date | null;
}

@ArgsType()
export class ChangeListArguments extends ConnectionArguments {
  @Field(() => ChangeFilter, { nullable: true, description: 'Which changes; without it, all.' })
  filter?: ChangeFilter | null;
}
