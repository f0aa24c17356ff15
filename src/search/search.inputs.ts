import { ArgsType, Field } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { SearchKind } from './search.model.js';

@ArgsType()
export class SearchArguments extends ConnectionArguments {
  @Field(() => String, {
    description:
      'Part of a name or id, 2 to 64 characters. Case and accents do not matter, and no character has a meaning of its own.',
  })
  query!: string;

  @Field(() => [SearchKind], { nullable: true, description: 'What to search for; without it, everything.' })
  kinds?: SearchKind[] | null;
}
