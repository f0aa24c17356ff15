import { ArgsType, Field, InputType, registerEnumType } from '@nestjs/graphql';
import { ConnectionArguments } from '../graphql/schema/connection.js';
import { OrderDirection } from '../graphql/schema/order.js';
import { DateTime } from '../graphql/schema/scalars.js';
import { GroupInput } from '../groups/group.inputs.js';
import { UserInput } from '../users/user.inputs.js';
import { RoleFilter } from './role.js';

export enum UserOrderField {
  NAME = 'NAME',
  SCHOOL_YEAR = 'SCHOOL_YEAR',
  UPDATED_AT = 'UPDATED_AT',
}

registerEnumType(UserOrderField, {
  name: 'UserOrderField',
  description: 'What people can be ordered by.',
  valuesMap: {
    NAME: { description: 'The name, without regard to case and accents.' },
    SCHOOL_YEAR: { description: 'The school year, those without one first, and the name among equals.' },
    UPDATED_AT: { description: 'When a change was last taken over from the directory.' },
  },
});

export enum GroupOrderField {
  NAME = 'NAME',
  MEMBER_COUNT = 'MEMBER_COUNT',
  UPDATED_AT = 'UPDATED_AT',
}

registerEnumType(GroupOrderField, {
  name: 'GroupOrderField',
  description: 'What groups can be ordered by.',
  valuesMap: {
    NAME: { description: 'The name, without regard to case and accents.' },
    MEMBER_COUNT: { description: 'How many people belong to the group, and the name among equals.' },
    UPDATED_AT: { description: 'When a change was last taken over from the directory.' },
  },
});

@InputType({ description: 'Which people are meant: all conditions have to hold.' })
export class UserFilter {
  @Field(() => String, {
    nullable: true,
    description: 'By part of the name or id, 2 to 64 characters; case and accents do not matter.',
  })
  search?: string | null;

  @Field(() => String, { nullable: true, description: 'By school year, such as 1A.' })
  schoolYear?: string | null;

  @Field(() => GroupInput, {
    nullable: true,
    description: 'Those who belong to this group, directly or through others.',
  })
  memberOf?: GroupInput | null;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'By role in the group of `memberOf`, which it needs.',
  })
  role?: RoleFilter | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'Those of whom a change was taken over from the directory at this instant or later.',
  })
  updatedSince?: Date | null;
}

@InputType({ description: 'Which groups are meant: all conditions have to hold.' })
export class GroupFilter {
  @Field(() => String, {
    nullable: true,
    description: 'By part of the name or id, 2 to 64 characters; case and accents do not matter.',
  })
  search?: string | null;

  @Field(() => GroupInput, { nullable: true, description: 'Those that this group directly contains.' })
  parent?: GroupInput | null;

  @Field(() => UserInput, {
    nullable: true,
    description: 'Those that this person belongs to, directly or through others.',
  })
  hasMember?: UserInput | null;

  @Field(() => RoleFilter, {
    nullable: true,
    description: 'By role of the person of `hasMember`, which it needs.',
  })
  role?: RoleFilter | null;
}

@InputType({ description: 'An order of people.' })
export class UserOrder {
  @Field(() => UserOrderField, { defaultValue: UserOrderField.NAME, description: 'By what.' })
  field!: UserOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Which end first.' })
  direction!: OrderDirection;
}

@InputType({ description: 'An order of groups.' })
export class GroupOrder {
  @Field(() => GroupOrderField, { defaultValue: GroupOrderField.NAME, description: 'By what.' })
  field!: GroupOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Which end first.' })
  direction!: OrderDirection;
}

@ArgsType()
export class UserListArguments extends ConnectionArguments {
  @Field(() => UserFilter, { nullable: true, description: 'Which people; without it, all.' })
  filter?: UserFilter | null;

  @Field(() => UserOrder, { nullable: true, description: 'In which order; without it, by name.' })
  orderBy?: UserOrder | null;
}

@ArgsType()
export class GroupListArguments extends ConnectionArguments {
  @Field(() => GroupFilter, { nullable: true, description: 'Which groups; without it, all.' })
  filter?: GroupFilter | null;

  @Field(() => GroupOrder, { nullable: true, description: 'In which order; without it, by name.' })
  orderBy?: GroupOrder | null;
}
