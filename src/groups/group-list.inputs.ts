import { ArgsType, Field, InputType } from '@nestjs/graphql';
import { ConnectionArguments, describedEnum, orderInput } from '../graphql/schema/connection.js';
import { DeriveFields, filtersOf } from '../graphql/schema/derived-fields.js';
import { addressInput, UserInput } from '../users/user.model.js';
import { GroupInput, ListFilter, RoleFilter } from './group.model.js';

export const GroupOrderField = describedEnum(
  'GroupOrderField',
  'The fields by which groups can be ordered.',
  {
    NAME: 'The name. Case and accents are ignored.',
    MEMBER_COUNT: 'The number of users that belong to the group, then the name.',
    UPDATED_AT: 'The time of the last change that was taken from the directory.',
  },
);
export type GroupOrderField = keyof typeof GroupOrderField;

@InputType({ description: 'Selects groups by the membership of a user.' })
class GroupMembershipFilter {
  @Field(() => UserInput, {
    description: 'The user who belongs to the groups, directly or through other groups.',
  })
  user!: UserInput;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'The effective role of the user. If omitted, any membership counts.',
  })
  role?: RoleFilter | null;
}

const USE_WITH_MEMBER = 'Use `withMember`.';

@DeriveFields(({ directory: { mapping } }) => [
  ...filtersOf(mapping.groups.fields),
  addressInput(mapping.groups.fields, {
    name: 'emails',
    type: '[String!]',
    description:
      'The e-mail addresses of the groups, at most 100. The case of ASCII letters is ignored. Unknown addresses are left out.',
  }),
])
@InputType({ description: 'Selects groups. All conditions must hold.' })
export class GroupFilter extends ListFilter {
  @Field(() => [String], {
    nullable: true,
    description: 'The ids of the groups, at most 100. Case is ignored. Unknown ids are left out.',
  })
  ids?: string[] | null;

  @Field(() => GroupInput, { nullable: true, description: 'The group that directly contains the groups.' })
  parent?: GroupInput | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether no group contains the groups, as far as the viewer may see.',
  })
  isRoot?: boolean | null;

  @Field(() => GroupMembershipFilter, {
    nullable: true,
    description: 'The user who belongs to the groups, and their role in them.',
  })
  withMember?: GroupMembershipFilter | null;

  @Field(() => UserInput, {
    nullable: true,
    description: 'The user who belongs to the groups, directly or through other groups.',
    deprecationReason: USE_WITH_MEMBER,
  })
  hasMember?: UserInput | null;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'The role of the user of `hasMember`, which is required with it.',
    deprecationReason: USE_WITH_MEMBER,
  })
  role?: RoleFilter | null;
}

const GroupOrder = orderInput('GroupOrder', 'The order of groups.', GroupOrderField);
export type GroupOrder = InstanceType<typeof GroupOrder>;

@ArgsType()
export class GroupListArguments extends ConnectionArguments {
  @Field(() => GroupFilter, { nullable: true, description: 'Selects the groups. If omitted, all of them.' })
  filter?: GroupFilter | null;

  @Field(() => GroupOrder, { nullable: true, description: 'The order. If omitted, by name.' })
  orderBy?: GroupOrder | null;
}
