import { ArgsType, Field } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { SearchKind } from './search.model.js';

@ArgsType()
export class SearchArguments extends ConnectionArguments {
  @Field(() => String, {
    description:
      'A part of a name or id, 2 to 64 characters. Case and accents are ignored. No character is a wildcard.',
  })
  query!: string;

  @Field(() => [SearchKind], {
    nullable: true,
    description: 'The kinds of objects to search for. If omitted, all kinds.',
  })
  kinds?: SearchKind[] | null;
}
