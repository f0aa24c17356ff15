import { Field, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { RequireScopes } from '../auth/access.js';
import { isInstant, propertyFields } from '../common/field.js';
import { DeriveFields } from '../graphql/schema/derived-fields.js';
import { Node } from '../graphql/schema/node.js';
import { ShareFields } from '../graphql/schema/shared-fields.js';
import { Person } from './person.model.js';
import { referenceFieldsOf } from '../graphql/schema/reference-fields.js';
import { User } from './user.model.js';

/** The fields of a user, without the timestamps of the entry: those are fields of `user`. */
@Personal()
@DeriveFields(({ directory: { mapping } }) => [
  ...propertyFields(mapping.users.fields).filter((field) => !isInstant(field) || field.reader === 'time'),
  ...referenceFieldsOf(mapping, 'user'),
])
@ShareFields(Person)
@ObjectType({ implements: () => [Node, Person], description: 'The user for whom the token acts.' })
export class Profile extends Node {
  [field: string]: unknown;
  /** Primary key of the row; internal. */
  key!: number;
  id!: string;
  hasPhoto!: boolean;
  hasPicture!: boolean;

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
