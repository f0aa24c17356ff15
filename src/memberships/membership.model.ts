import { Field, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { GroupRole, Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';

@ObjectType({ description: 'The role that a user has in a group now, and where it comes from.' })
export class CurrentGroupMembershipInheritance {
  /** Keys of the groups of `inheritedFrom`. */
  inheritedFromKeys!: readonly number[];

  @InheritAccess()
  @Field(() => GroupRole, {
    description: 'The effective role: the highest one over all ways in which the user belongs to the group.',
  })
  value!: GroupRole;

  @InheritAccess()
  @Field(() => GroupRole, {
    nullable: true,
    description:
      'The role for which the group itself names the user. Null if the user only belongs to it through other groups.',
  })
  direct!: GroupRole | null;
}

@ObjectType({ description: 'A user in a group.' })
export class GroupMembership {
  @InheritAccess()
  @Field(() => User, { description: 'The user.' })
  user!: User;

  @InheritAccess()
  @Field(() => Group, { description: 'The group.' })
  group!: Group;

  @Personal()
  @InheritAccess()
  @Field(() => CurrentGroupMembershipInheritance, { description: 'The role of the user in the group.' })
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
