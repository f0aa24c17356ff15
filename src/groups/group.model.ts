import { ObjectType, Field, ID, InputType } from '@nestjs/graphql';
import { propertyFields } from '../common/field.js';
import type { PreloadedPage } from '../database/paging/page.js';
import { connectionTypes, describedEnum, Node, SEARCH_DESCRIPTION } from '../graphql/schema/connection.js';
import { DateTime, DeriveFields, referenceFieldsOf } from '../graphql/schema/derived-fields.js';
import type { Values } from '../database/statements/statement.js';

/** Roles in the order of inheritance: each role includes those before it. */
export const GroupRole = describedEnum(
  'GroupRole',
  'The role of a user in a group. Roles are inherited: an OWNER is also an ADMIN, an ADMIN is also a MEMBER.',
  {
    MEMBER: 'Belongs to the group.',
    ADMIN: 'Manages the members of the group.',
    OWNER: 'Is responsible for the group.',
  },
);
export type GroupRole = keyof typeof GroupRole;

const BY_RANK = [GroupRole.MEMBER, GroupRole.ADMIN, GroupRole.OWNER];

/** How roles are stored: 1 MEMBER, 2 ADMIN, 3 OWNER, so that a higher role is a larger number. */
export function rankOf(role: GroupRole): number {
  return BY_RANK.indexOf(role) + 1;
}

export function roleOf(rank: number): GroupRole {
  return BY_RANK[rank - 1] ?? GroupRole.MEMBER;
}

@InputType({ description: 'Selects roles.' })
export class RoleFilter {
  @Field(() => GroupRole, { description: 'The role to check for.' })
  is!: GroupRole;

  @Field(() => Boolean, {
    nullable: true,
    defaultValue: false,
    description:
      'If true, exactly this role. If false, this role or a role that inherits it: MEMBER then selects all members.',
  })
  strict?: boolean | null;
}

/** The SQL condition for the role of an effective membership `m`. */
export function roleConditionOf({ is, strict }: RoleFilter, values: Values): string {
  return `m.role ${strict === true ? '=' : '>='} ${values.add(rankOf(is))}::smallint`;
}

/** What filters of users and of groups have in common. */
@InputType({ isAbstract: true })
export abstract class ListFilter {
  [field: string]: unknown;

  @Field(() => String, { nullable: true, description: SEARCH_DESCRIPTION })
  search?: string | null;

  emails?: string[] | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'The earliest time of the last change that was taken from the directory.',
  })
  updatedSince?: Date | null;
}

@InputType({ isOneOf: true, description: 'Identifies a group by exactly one of its members.' })
export class GroupInput {
  @Field(() => String, { nullable: true, description: 'The id of the group. Case is ignored.' })
  id?: string | null;

  @Field(() => ID, { nullable: true, description: 'The `nodeId` of the group.' })
  nodeId?: string | null;
}

/** A group as the API shows it. Its fields are those of the table; these properties are used by the code. */
@DeriveFields(({ directory: { mapping } }) => [
  ...propertyFields(mapping.groups.fields),
  ...referenceFieldsOf(mapping, 'group'),
])
@ObjectType({
  implements: () => [Node],
  description: 'A group of people, such as a club, a class or a team. Groups may contain groups.',
})
export class Group extends Node {
  [field: string]: unknown;
  /** Primary key of the row; internal. */
  key!: number;
  id!: string;
  /** The audience of the members. 0: the viewer may see them. Read where `members` is selected. */
  membersVisibleTo?: number;
  /** A page of `members` that was read together with the group. */
  membershipsAhead: PreloadedPage | null = null;

  get nodeType(): 'Group' {
    return 'Group';
  }
}

export const { ConnectionType: GroupConnection } = connectionTypes('Group', () => Group, {
  connection: 'A page of groups.',
  nodes: 'The groups on this page.',
  edge: 'A group and its position in the order.',
  node: 'The group.',
});
