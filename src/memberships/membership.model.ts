import { Field, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { Group } from '../groups/group.model.js';
import { User } from '../users/user.model.js';
import { GroupRole } from './role.js';

@ObjectType({ description: 'The role that a person holds in a group today, and where it comes from.' })
export class CurrentGroupMembershipInheritance {
  /** Keys of the groups of `inheritedFrom`. */
  inheritedFromKeys!: readonly number[];

  @InheritAccess()
  @Field(() => GroupRole, {
    description: 'The highest role, over every way in which the person belongs to the group.',
  })
  value!: GroupRole;

  @InheritAccess()
  @Field(() => GroupRole, {
    nullable: true,
    description: 'The role given to the person by name; null when it only comes through another group.',
  })
  direct!: GroupRole | null;
}

@ObjectType({ description: 'A person in a group.' })
export class GroupMembership {
  @InheritAccess()
  @Field(() => User, { description: 'Who.' })
  user!: User;

  @InheritAccess()
  @Field(() => Group, { description: 'In which group.' })
  group!: Group;

  @Personal()
  @InheritAccess()
  @Field(() => CurrentGroupMembershipInheritance, { description: 'As what.' })
  role!: CurrentGroupMembershipInheritance;
}

export const { ConnectionType: GroupMembershipConnection } = connectionTypes(
  'GroupMembership',
  () => GroupMembership,
  {
    connection: 'Memberships, page by page.',
    nodes: 'The memberships of this page.',
    edge: 'A membership and its place in the order.',
    node: 'The membership.',
  },
);
