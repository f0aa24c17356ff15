import { Field, ID, ObjectType, registerEnumType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { GroupRole } from '../memberships/role.js';
import { ChangeKind } from './change-kind.js';

registerEnumType(ChangeKind, {
  name: 'ChangeKind',
  description: 'What can change. Memberships are those over every way in: by name, or through other groups.',
  valuesMap: {
    USER_CREATED: { description: 'Somebody came into the directory.' },
    USER_UPDATED: {
      description: "The directory's entry of a person is another one: a name, an address, a picture.",
    },
    USER_DELETED: { description: 'Somebody is gone from the directory, and from every group.' },
    GROUP_CREATED: { description: 'A group came into the directory.' },
    GROUP_UPDATED: { description: "The directory's entry of a group is another one, besides who is in it." },
    GROUP_DELETED: { description: 'A group is gone from the directory.' },
    MEMBER_ADDED: { description: 'Somebody belongs to a group who did not: `roleAfter` says as what.' },
    MEMBER_REMOVED: {
      description: 'Somebody no longer belongs to a group: `roleBefore` says as what they did.',
    },
    ROLE_CHANGED: { description: 'Somebody belongs to a group as something else than before.' },
  },
});

/** A change as the API shows it. The keys are ours and not in the schema. */
@ObjectType({ description: 'Something that was taken over from the directory.' })
export class Change {
  userKey!: number | null;
  groupKey!: number | null;

  @InheritAccess()
  @Field(() => ID, { description: 'Names this change and no other.' })
  id!: string;

  @InheritAccess()
  @Field(() => ChangeKind, { description: 'What changed.' })
  kind!: ChangeKind;

  @InheritAccess()
  @Field(() => DateTime, {
    description: 'When this service took it over. Everything that is taken over together has one instant.',
  })
  at!: Date;

  @Personal()
  @InheritAccess()
  @Field(() => ID, {
    nullable: true,
    description: 'The id, at the time, of the person it is about; also of one who is gone.',
  })
  userId!: string | null;

  @Personal()
  @InheritAccess()
  @Field(() => ID, {
    nullable: true,
    description:
      'Identifies the person it is about, whatever their id is or was; also one who is gone. Opaque. Null for some changes that an earlier release recorded.',
  })
  userNodeId!: string | null;

  @InheritAccess()
  @Field(() => ID, {
    nullable: true,
    description: 'The id, at the time, of the group it is about; also of one that is gone.',
  })
  groupId!: string | null;

  @InheritAccess()
  @Field(() => ID, {
    nullable: true,
    description:
      'Identifies the group it is about, whatever its id is or was; also one that is gone. Opaque. Null for some changes that an earlier release recorded.',
  })
  groupNodeId!: string | null;

  @InheritAccess()
  @Field(() => ID, {
    nullable: true,
    description: 'The id until then of a person or group that got another one; else null.',
  })
  previousId!: string | null;

  @InheritAccess()
  @Field(() => GroupRole, {
    nullable: true,
    description: 'The effective role until then; null where somebody was no member, or it is about no role.',
  })
  roleBefore!: GroupRole | null;

  @InheritAccess()
  @Field(() => GroupRole, {
    nullable: true,
    description: 'The effective role from then on; null where somebody is no member, or it is about no role.',
  })
  roleAfter!: GroupRole | null;
}

export const { ConnectionType: ChangeConnection } = connectionTypes('Change', () => Change, {
  connection: 'Changes from old to new, page by page.',
  nodes: 'The changes of this page.',
  edge: 'A change and its place in the log.',
  node: 'The change.',
});
