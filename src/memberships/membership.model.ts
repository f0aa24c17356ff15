import { ArgsType, Field, InputType, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import {
  ConnectionArguments,
  connectionTypes,
  describedEnum,
  orderInput,
  Shown,
  SEARCH_DESCRIPTION,
} from '../graphql/schema/connection.js';
import { DeriveFields, filtersOf } from '../graphql/schema/derived-fields.js';
import { Group, GroupRole, RoleFilter } from '../groups/group.model.js';
import { User } from '../users/user.model.js';

export const MembershipOrigin = describedEnum('MembershipOrigin', 'How a user came to belong to a group.', {
  ANY: 'Any origin.',
  DIRECT: 'The group itself names the user.',
  NESTED: 'The group does not name the user; a group inside it does.',
});
export type MembershipOrigin = keyof typeof MembershipOrigin;

export const MembershipOrderField = describedEnum(
  'MembershipOrderField',
  'The fields by which memberships can be ordered.',
  {
    NAME: 'The name of the listed node: of the users in a group, or of the groups of a user.',
    FAMILY_NAME:
      'The family name of the users in a group, users without one first, then the name. The groups of a user have none, and are ordered by name.',
    CREATED_AT: 'The time at which the entry of the listed node was created in the directory.',
    ROLE: 'The effective role, from MEMBER to OWNER, then the name.',
  },
);
export type MembershipOrderField = keyof typeof MembershipOrderField;

/** What selects memberships on both sides: the users in a group, and the groups of a user. */
@InputType({ isAbstract: true })
export abstract class MembershipFilter {
  [field: string]: unknown;

  @Field(() => RoleFilter, { nullable: true, description: 'The effective role.' })
  role?: RoleFilter | null;

  @Field(() => MembershipOrigin, {
    nullable: true,
    defaultValue: MembershipOrigin.ANY,
    description: 'The origin of the membership.',
  })
  origin?: MembershipOrigin | null;

  @Field(() => String, {
    nullable: true,
    description: `Of the listed nodes: the users in a group, or the groups of a user. ${SEARCH_DESCRIPTION}`,
  })
  search?: string | null;
}

@DeriveFields(({ directory }) => filtersOf(directory.mapping.users.fields))
@InputType({ description: 'Selects the users in a group. All conditions must hold.' })
class UserMemberFilter extends MembershipFilter {}

@InputType({ description: 'Selects the groups of a user. All conditions must hold.' })
class UserGroupFilter extends MembershipFilter {}

export const MembershipOrder = orderInput(
  'MembershipOrder',
  'The order of memberships.',
  MembershipOrderField,
);
export type MembershipOrder = InstanceType<typeof MembershipOrder>;

@ArgsType()
export class MembershipArguments extends ConnectionArguments {
  filter?: MembershipFilter | null;

  @Field(() => MembershipOrder, { nullable: true, description: 'The order. If omitted, by name.' })
  orderBy?: MembershipOrder | null;
}

@ArgsType()
export class MemberArguments extends MembershipArguments {
  @Field(() => UserMemberFilter, {
    nullable: true,
    description: 'Selects the users by their memberships. If omitted, all of them.',
  })
  declare filter?: UserMemberFilter | null;
}

@ArgsType()
export class UserGroupArguments extends MembershipArguments {
  @Field(() => UserGroupFilter, {
    nullable: true,
    description: 'Selects the groups by their memberships. If omitted, all of them.',
  })
  declare filter?: UserGroupFilter | null;
}

@ObjectType({ description: 'The role that a user has in a group now, and where it comes from.' })
export class CurrentGroupMembershipInheritance {
  /** Keys of the groups of `inheritedFrom`. */
  inheritedFromKeys!: readonly number[];

  @Shown(
    () => GroupRole,
    'The effective role: the highest one over all ways in which the user belongs to the group.',
  )
  value!: GroupRole;

  @Shown(
    () => GroupRole,
    'The role for which the group itself names the user. Null if the user only belongs to it through other groups.',
    { nullable: true },
  )
  direct!: GroupRole | null;
}

@ObjectType({ description: 'A user in a group.' })
export class GroupMembership {
  @Shown(() => User, 'The user.')
  user!: User;

  @Shown(() => Group, 'The group.')
  group!: Group;

  @Personal()
  @Shown(() => CurrentGroupMembershipInheritance, 'The role of the user in the group.')
  role!: CurrentGroupMembershipInheritance;
}

export const { ConnectionType: GroupMembershipConnection } = connectionTypes(
  'GroupMembership',
  () => GroupMembership,
  {
    connection: 'A page of memberships.',
    nodes: 'The memberships on this page.',
    edge: 'A membership and its position in the order.',
    node: 'The membership.',
  },
);
