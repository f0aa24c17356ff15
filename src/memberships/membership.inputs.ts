import { ArgsType, Field, InputType, registerEnumType } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { OrderDirection } from '../graphql/schema/order.js';
import { RoleFilter } from './role.js';

export enum MembershipOrigin {
  ANY = 'ANY',
  DIRECT = 'DIRECT',
  NESTED = 'NESTED',
}

registerEnumType(MembershipOrigin, {
  name: 'MembershipOrigin',
  description: 'Where a membership comes from when groups contain groups.',
  valuesMap: {
    ANY: { description: 'Wherever it comes from.' },
    DIRECT: { description: 'The group names the person.' },
    NESTED: { description: 'The group does not name the person, but a group inside it has them.' },
  },
});

export enum MembershipOrderField {
  NAME = 'NAME',
  ROLE = 'ROLE',
}

registerEnumType(MembershipOrderField, {
  name: 'MembershipOrderField',
  description: 'What memberships can be ordered by.',
  valuesMap: {
    NAME: { description: 'The name of the other side: of people in a group, of the groups of a person.' },
    ROLE: { description: 'The effective role, from MEMBER to OWNER, and the name among equals.' },
  },
});

@InputType({ description: 'Which memberships are meant: all conditions have to hold.' })
export class UserMemberFilter {
  @Field(() => RoleFilter, { nullable: true, description: 'By effective role.' })
  role?: RoleFilter | null;

  @Field(() => MembershipOrigin, {
    nullable: true,
    defaultValue: MembershipOrigin.ANY,
    description: 'By where the membership comes from.',
  })
  origin?: MembershipOrigin | null;

  @Field(() => String, {
    nullable: true,
    description:
      'By part of a name or id, 2 to 64 characters; case and accents do not matter. Looks at the people in a group, and at the groups of a person.',
  })
  search?: string | null;

  @Field(() => String, { nullable: true, description: "By the person's school year, such as 1A." })
  schoolYear?: string | null;
}

@InputType({ description: 'An order of memberships.' })
export class MembershipOrder {
  @Field(() => MembershipOrderField, { defaultValue: MembershipOrderField.NAME, description: 'By what.' })
  field!: MembershipOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Which end first.' })
  direction!: OrderDirection;
}

@ArgsType()
export class MembershipArguments extends ConnectionArguments {
  @Field(() => UserMemberFilter, { nullable: true, description: 'Which memberships; without it, all.' })
  filter?: UserMemberFilter | null;

  @Field(() => MembershipOrder, { nullable: true, description: 'In which order; without it, by name.' })
  orderBy?: MembershipOrder | null;
}
