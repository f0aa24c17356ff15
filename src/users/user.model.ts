import { ObjectType, Field, ID, InputType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { propertyFields } from '../common/field.js';
import type { PageAhead } from '../database/paging/page.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { DeriveFields } from '../graphql/schema/derived-fields.js';
import { Node } from '../graphql/schema/node.js';
import { ShareFields } from '../graphql/schema/shared-fields.js';
import { addressInput } from './address-input.js';
import { Person } from './person.model.js';
import { referenceFieldsOf } from '../graphql/schema/reference-fields.js';

@DeriveFields(({ directory }) => [
  addressInput(directory.mapping.users.fields, {
    name: 'email',
    type: 'String',
    description:
      'The e-mail address of the user. The case of ASCII letters is ignored. An address that several users have identifies none.',
  }),
])
@InputType({ isOneOf: true, description: 'Identifies a user by exactly one of its members.' })
export class UserInput {
  @Field(() => String, { nullable: true, description: 'The id of the user. Case is ignored.' })
  id?: string | null;

  @Field(() => ID, { nullable: true, description: 'The `nodeId` of the user.' })
  nodeId?: string | null;

  email?: string | null;
}

/** A user as the API shows it to others. Its fields are those of the table; these properties are used by the code. */
@Personal()
@DeriveFields(({ directory: { mapping } }) => [
  ...propertyFields(mapping.users.fields),
  ...referenceFieldsOf(mapping, 'user'),
])
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
