import { ObjectType, Field, ID, InputType, InterfaceType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { type Field as MirroredField, propertyFields } from '../common/field.js';
import type { PreloadedPage } from '../database/paging/page.js';
import { connectionTypes, Node } from '../graphql/schema/connection.js';
import { DeriveFields, type DerivedField, referenceFieldsOf } from '../graphql/schema/derived-fields.js';
import { RequireScopes } from '../auth/access.js';

/** The schema adds the fields: see addDerivedFields. These properties are used by the code. */
@InterfaceType({
  implements: () => [Node],
  description: 'The fields that a person has both as a user and as the profile of a token.',
})
abstract class Person extends Node {
  [field: string]: unknown;
  /** Primary key of the row; internal. */
  key!: number;
  id!: string;
  /** The level of the user (docs/adr/0038-visibility.md); null: there is no photo. */
  photoLevel!: number | null;
  /** The level of the user; null: there is no picture. */
  pictureLevel!: number | null;
}

/** The field with the e-mail addresses of users or groups. */
export function addressField(fields: readonly MirroredField[]): MirroredField | undefined {
  return fields.find(({ name }) => name === 'email');
}

/** A member of an input that finds users or groups by their addresses. It needs the scopes of the field, and has its audience. */
export function addressInput(
  fields: readonly MirroredField[],
  input: Pick<DerivedField, 'name' | 'type' | 'description'>,
): DerivedField {
  const { scopes, visibleTo } = addressField(fields) ?? {};
  return { ...input, ...(scopes && { scopes }), ...(visibleTo && { visibleTo }) };
}

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

/** A user as the API shows it to others. */
@Personal()
@DeriveFields(({ directory: { mapping } }) => [
  ...propertyFields(mapping.users.fields),
  ...referenceFieldsOf(mapping, 'user'),
])
@ObjectType({ implements: () => [Node, Person], description: 'A person in the directory.' })
export class User extends Person {
  /** A page of `groups` that was read together with the user. */
  membershipsAhead: PreloadedPage | null = null;

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

const TIMESTAMPS = ['createdAt', 'updatedAt'];

/** The fields of a user, without the timestamps of the entry: those are fields of `user`. */
@Personal()
@DeriveFields(({ directory: { mapping } }) => [
  ...propertyFields(mapping.users.fields).filter(({ name }) => !TIMESTAMPS.includes(name)),
  ...referenceFieldsOf(mapping, 'user'),
])
@ObjectType({ implements: () => [Node, Person], description: 'The user for whom the token acts.' })
export class Profile extends Person {
  @RequireScopes('read')
  @Field(() => User, { nullable: true, description: 'The same user as other users see them.' })
  user: User;

  constructor(user: User) {
    super();
    Object.assign(this, user);
    this.user = user;
  }

  get nodeType(): 'Profile' {
    return 'Profile';
  }
}
