import { ArgsType, Field, InputType } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { GroupInput } from '../groups/group.model.js';
import { UserInput } from '../users/user.model.js';
import { ChangeKind } from './change.model.js';

@InputType({ description: 'Selects changes. All conditions must hold.' })
export class ChangeFilter {
  @Field(() => [ChangeKind], { nullable: true, description: 'The kinds of changes. If omitted, all kinds.' })
  kinds?: ChangeKind[] | null;

  @Field(() => UserInput, {
    nullable: true,
    description:
      'The user whose changes are returned, including changes under former ids. A deleted user is identified by ' +
      'the last id.',
  })
  user?: UserInput | null;

  @Field(() => GroupInput, {
    nullable: true,
    description:
      'The group that the changes are about, or whose members they are about. A deleted group is identified by its last id.',
  })
  group?: GroupInput | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'The earliest time at which the service took the changes from the directory.',
  })
  since?: Date | null;
}

@ArgsType()
export class ChangeListArguments extends ConnectionArguments {
  @Field(() => ChangeFilter, { nullable: true, description: 'Selects the changes. If omitted, all of them.' })
  filter?: ChangeFilter | null;
}
