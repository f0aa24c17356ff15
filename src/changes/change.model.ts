import { Field, ID, ObjectType, ArgsType, InputType } from '@nestjs/graphql';
import { Personal, type PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import type { ChangeKind } from '../common/change-kind.js';
import { connectionTypes, ConnectionArguments, describedEnum, Shown } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/derived-fields.js';
import { GroupRole, GroupInput } from '../groups/group.model.js';
import { UserInput } from '../users/user.model.js';

const KINDS = describedEnum<ChangeKind>(
  'ChangeKind',
  'The kinds of changes. Memberships are effective ones: direct, or through other groups.',
  {
    USER_CREATED: 'A user was added to the directory.',
    USER_UPDATED: 'An attribute of the user changed, such as a name, an address or a picture.',
    USER_DELETED: 'A user was removed from the directory, and from every group.',
    GROUP_CREATED: 'A group was added to the directory.',
    GROUP_UPDATED: 'An attribute of the group changed; its members did not.',
    GROUP_DELETED: 'A group was removed from the directory.',
    MEMBER_ADDED: 'A user joined a group with the role `roleAfter`.',
    MEMBER_REMOVED: 'A user with the role `roleBefore` left a group.',
    ROLE_CHANGED: 'The role of a user in a group changed.',
  },
);

/** A change as the API shows it. The keys are internal. */
@ObjectType({ description: 'A change that the service took from the directory.' })
export class Change {
  userKey!: number | null;
  groupKey!: number | null;

  @Shown(() => ID, 'Identifies the change.')
  id!: string;

  @Shown(() => KINDS, 'The kind of the change.')
  kind!: ChangeKind;

  @Shown(
    () => DateTime,
    'When the service took the change from the directory. All changes of one revision have the same time.',
  )
  at!: Date;

  @Personal()
  @Shown(() => ID, 'The id that the user had at the time of the change. Also set for a deleted user.', {
    nullable: true,
  })
  userId!: string | null;

  @Personal()
  @Shown(() => ID, 'Identifies the user, independently of the id. Also set for a deleted user. Opaque.', {
    nullable: true,
  })
  userNodeId!: string | null;

  @Shown(() => ID, 'The id that the group had at the time of the change. Also set for a deleted group.', {
    nullable: true,
  })
  groupId!: string | null;

  @Shown(() => ID, 'Identifies the group, independently of the id. Also set for a deleted group. Opaque.', {
    nullable: true,
  })
  groupNodeId!: string | null;

  @Shown(() => ID, 'The former id of a user or group whose id changed. Null for other changes.', {
    nullable: true,
  })
  previousId!: string | null;

  @Shown(
    () => GroupRole,
    'The effective role before the change. Null if the user was not a member, or if the change is not about a membership.',
    { nullable: true },
  )
  roleBefore!: GroupRole | null;

  @Shown(
    () => GroupRole,
    'The effective role after the change. Null if the user is not a member, or if the change is not about a membership.',
    { nullable: true },
  )
  roleAfter!: GroupRole | null;
}

/** A change as clients outside of GraphQL receive it: the fields of `Change` that are values. */
export function describeChange({ userKey: _user, groupKey: _group, ...shown }: Change): object {
  return shown;
}

/** What the access log counts where changes with some users are sent. */
export function accessOf(users: number): PersonalDataAccess {
  return { fields: ['Change.userId', 'Change.userNodeId'], users: [users, users] };
}

export const { ConnectionType: ChangeConnection } = connectionTypes('Change', () => Change, {
  connection: 'A page of changes, oldest first.',
  nodes: 'The changes on this page.',
  edge: 'A change and its position in the log.',
  node: 'The change.',
});

@InputType({ description: 'Selects changes. All conditions must hold.' })
export class ChangeFilter {
  @Field(() => [KINDS], { nullable: true, description: 'The kinds of changes. If omitted, all kinds.' })
  kinds?: ChangeKind[] | null;

  @Field(() => UserInput, {
    nullable: true,
    description:
      'The user whose changes are returned, including changes under former ids. A deleted user is identified by ' +
      'the last id.',
  })
  user?: UserInput | null;

  @Field(() => GroupInput, {
    nullable: true,
    description:
      'The group that the changes are about, or whose members they are about. A deleted group is identified by its last id.',
  })
  group?: GroupInput | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'The earliest time at which the service took the changes from the directory.',
  })
  since?: Date | null;
}

@ArgsType()
export class ChangeListArguments extends ConnectionArguments {
  @Field(() => ChangeFilter, { nullable: true, description: 'Selects the changes. If omitted, all of them.' })
  filter?: ChangeFilter | null;
}
