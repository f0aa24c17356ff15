import { Field, InputType, registerEnumType } from '@nestjs/graphql';
import type { Values } from '../database/statements/statement.js';

/** Roles in the order of inheritance: each role includes those before it. */
export enum GroupRole {
  MEMBER = 'MEMBER',
  ADMIN = 'ADMIN',
  OWNER = 'OWNER',
}

registerEnumType(GroupRole, {
  name: 'GroupRole',
  description:
    'The role of a user in a group. Roles are inherited: an OWNER is also an ADMIN, an ADMIN is also a MEMBER.',
  valuesMap: {
    MEMBER: { description: 'Belongs to the group.' },
    ADMIN: { description: 'Manages the members of the group.' },
    OWNER: { description: 'Is responsible for the group.' },
  },
});

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
