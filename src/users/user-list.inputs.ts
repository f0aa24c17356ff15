import { ArgsType, Field, InputType } from '@nestjs/graphql';
import { ConnectionArguments, describedEnum, orderInput } from '../graphql/schema/connection.js';
import { DeriveFields, filtersOf } from '../graphql/schema/derived-fields.js';
import { GroupInput, ListFilter, RoleFilter } from '../groups/group.model.js';
import { addressInput } from './user.model.js';

export const UserOrderField = describedEnum('UserOrderField', 'The fields by which users can be ordered.', {
  NAME: 'The name. Case and accents are ignored.',
  FAMILY_NAME: 'The family name, users without one first, then the name. Case and accents are ignored.',
  SCHOOL_YEAR: 'The school year without regard to case, users without one first, then the name.',
  CREATED_AT: 'The time at which the entry was created in the directory.',
  UPDATED_AT: 'The time of the last change that was taken from the directory.',
});
export type UserOrderField = keyof typeof UserOrderField;

@InputType({ description: 'Selects users by their membership in a group.' })
class UserMembershipFilter {
  @Field(() => GroupInput, {
    description: 'The group to which the users belong, directly or through other groups.',
  })
  group!: GroupInput;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'The effective role in the group. If omitted, any membership counts.',
  })
  role?: RoleFilter | null;
}

const USE_IN_GROUP = 'Use `inGroup`.';

@DeriveFields(({ directory: { mapping } }) => [
  ...filtersOf(mapping.users.fields),
  addressInput(mapping.users.fields, {
    name: 'emails',
    type: '[String!]',
    description:
      'The e-mail addresses of the users, at most 100. The case of ASCII letters is ignored. Unknown addresses are left out.',
  }),
])
@InputType({ description: 'Selects users. All conditions must hold.' })
export class UserFilter extends ListFilter {
  @Field(() => [String], {
    nullable: true,
    description: 'The ids of the users, at most 100. Case is ignored. Unknown ids are left out.',
  })
  ids?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether the accounts of the users are active.' })
  active?: boolean | null;

  @Field(() => UserMembershipFilter, {
    nullable: true,
    description: 'The group to which the users belong, and their role in it.',
  })
  inGroup?: UserMembershipFilter | null;

  @Field(() => GroupInput, {
    nullable: true,
    description: 'The group to which the users belong, directly or through other groups.',
    deprecationReason: USE_IN_GROUP,
  })
  memberOf?: GroupInput | null;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'The role in the group of `memberOf`, which is required with it.',
    deprecationReason: USE_IN_GROUP,
  })
  role?: RoleFilter | null;
}

const UserOrder = orderInput('UserOrder', 'The order of users.', UserOrderField);
type UserOrder = InstanceType<typeof UserOrder>;

@ArgsType()
export class UserListArguments extends ConnectionArguments {
  @Field(() => UserFilter, { nullable: true, description: 'Selects the users. If omitted, all of them.' })
  filter?: UserFilter | null;

  @Field(() => UserOrder, { nullable: true, description: 'The order. If omitted, by name.' })
  orderBy?: UserOrder | null;
}
