import { ArgsType, Field, InputType, registerEnumType } from '@nestjs/graphql';
import { ConnectionArguments, OrderDirection, SEARCH_DESCRIPTION } from '../graphql/schema/connection.js';
import { DeriveFields, filtersOf, DateTime } from '../graphql/schema/derived-fields.js';
import { addressInput, UserInput } from '../users/user.model.js';
import { RoleFilter, GroupInput } from './group.model.js';

export enum GroupOrderField {
  NAME = 'NAME',
  MEMBER_COUNT = 'MEMBER_COUNT',
  UPDATED_AT = 'UPDATED_AT',
}

registerEnumType(GroupOrderField, {
  name: 'GroupOrderField',
  description: 'The fields by which groups can be ordered.',
  valuesMap: {
    NAME: { description: 'The name. Case and accents are ignored.' },
    MEMBER_COUNT: { description: 'The number of users that belong to the group, then the name.' },
    UPDATED_AT: { description: 'The time of the last change that was taken from the directory.' },
  },
});

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
export class GroupFilter {
  [field: string]: unknown;

  @Field(() => String, {
    nullable: true,
    description: SEARCH_DESCRIPTION,
  })
  search?: string | null;

  @Field(() => [String], {
    nullable: true,
    description: 'The ids of the groups, at most 100. Case is ignored. Unknown ids are left out.',
  })
  ids?: string[] | null;

  emails?: string[] | null;

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

  @Field(() => DateTime, {
    nullable: true,
    description: 'The earliest time of the last change that was taken from the directory.',
  })
  updatedSince?: Date | null;
}

@InputType({ description: 'The order of groups.' })
class GroupOrder {
  @Field(() => GroupOrderField, { defaultValue: GroupOrderField.NAME, description: 'Sort field.' })
  field!: GroupOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Sort direction.' })
  direction!: OrderDirection;
}

@ArgsType()
export class GroupListArguments extends ConnectionArguments {
  @Field(() => GroupFilter, { nullable: true, description: 'Selects the groups. If omitted, all of them.' })
  filter?: GroupFilter | null;

  @Field(() => GroupOrder, { nullable: true, description: 'The order. If omitted, by name.' })
  orderBy?: GroupOrder | null;
}
