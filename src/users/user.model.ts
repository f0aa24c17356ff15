import { ObjectType, Field, InputType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { propertyFields } from '../common/field.js';
import type { PageAhead } from '../database/paging/page.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { DeriveFields, ShareFields } from '../graphql/schema/derived-fields.js';
import { Node } from '../graphql/schema/node.js';
import { Person } from './person.model.js';

@InputType({ description: 'Identifies a user.' })
export class UserInput {
  @Field(() => String, { description: 'The id of the user. Case is ignored.' })
  id!: string;
}

/** A user as the API shows it to others. Its fields are those of the table; these properties are used by the code. */
@Personal()
@DeriveFields(({ directory }) => propertyFields(directory.mapping.users.fields))
@ShareFields(Person)
@ObjectType({ implements: () => [Node, Person], description: 'A person in the directory.' })
export class User extends Node {
  [field: string]: unknown;
  /** Primary key of the row; internal. */
  key!: number;
  id!: string;
  hasPhoto!: boolean;
  hasPicture!: boolean;
  /** A page of `groups` that was read together with the user. */
  membershipsAhead: PageAhead | null = null;

  get nodeType(): 'User' {
    return 'User';
  }
}

export const { ConnectionType: UserConnection } = connectionTypes('User', () => User, {
  connection: 'A page of users.',
  nodes: 'The users on this page.',
  edge: 'A user and its position in the order.',
  node: 'The user.',
});
