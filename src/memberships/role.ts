import { Field, InputType, registerEnumType } from '@nestjs/graphql';

/** Roles in the order of inheritance: each holds all that come before it. */
export enum GroupRole {
  MEMBER = 'MEMBER',
  ADMIN = 'ADMIN',
  OWNER = 'OWNER',
}

registerEnumType(GroupRole, {
  name: 'GroupRole',
  description:
    'What somebody is in a group. Roles are inherited: an OWNER counts as an ADMIN, an ADMIN as a MEMBER.',
  valuesMap: {
    MEMBER: { description: 'Belongs to the group.' },
    ADMIN: { description: 'Looks after its members.' },
    OWNER: { description: 'Answers for the group.' },
  },
});

const BY_RANK = [GroupRole.MEMBER, GroupRole.ADMIN, GroupRole.OWNER];

/** How roles are stored: 1 MEMBER, 2 ADMIN, 3 OWNER, so that a higher one is a larger number. */
export function rankOf(role: GroupRole): number {
  return BY_RANK.indexOf(role) + 1;
}

/** The role that is stored as this number. */
export function roleOf(rank: number): GroupRole {
  return BY_RANK[rank - 1] ?? GroupRole.MEMBER;
}

@InputType({ description: 'Which roles are meant.' })
export class RoleFilter {
  @Field(() => GroupRole, { description: 'The role that is asked about.' })
  is!: GroupRole;

  @Field(() => Boolean, {
    nullable: true,
    defaultValue: false,
    description:
      'True: exactly this role. False: this role or one that inherits it, so that MEMBER means everybody.',
  })
  strict?: boolean | null;
}

/** The SQL condition for a column that holds a role. `placeholder` stands for the rank of `is`. */
export function roleCondition(column: string, { strict }: RoleFilter, placeholder: string): string {
  return `${column} ${strict === true ? '=' : '>='} ${placeholder}::smallint`;
}
