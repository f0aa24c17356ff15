import { ArgsType, Field, InputType, registerEnumType } from '@nestjs/graphql';
import { ConnectionArguments, OrderDirection, SEARCH_DESCRIPTION } from '../graphql/schema/connection.js';
import { DeriveFields, filtersOf } from '../graphql/schema/derived-fields.js';
import { RoleFilter } from '../groups/group.model.js';

export enum MembershipOrigin {
  ANY = 'ANY',
  DIRECT = 'DIRECT',
  NESTED = 'NESTED',
}

registerEnumType(MembershipOrigin, {
  name: 'MembershipOrigin',
  description: 'How a user came to belong to a group.',
  valuesMap: {
    ANY: { description: 'Any origin.' },
    DIRECT: { description: 'The group itself names the user.' },
    NESTED: { description: 'The group does not name the user; a group inside it does.' },
  },
});

export enum MembershipOrderField {
  NAME = 'NAME',
  FAMILY_NAME = 'FAMILY_NAME',
  CREATED_AT = 'CREATED_AT',
  ROLE = 'ROLE',
}

registerEnumType(MembershipOrderField, {
  name: 'MembershipOrderField',
  description: 'The fields by which memberships can be ordered.',
  valuesMap: {
    NAME: {
      description: 'The name of the listed node: of the users in a group, or of the groups of a user.',
    },
    FAMILY_NAME: {
      description:
        'The family name of the users in a group, users without one first, then the name. The groups of a user have none, and are ordered by name.',
    },
    CREATED_AT: {
      description: 'The time at which the entry of the listed node was created in the directory.',
    },
    ROLE: { description: 'The effective role, from MEMBER to OWNER, then the name.' },
  },
});

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
export class UserMemberFilter extends MembershipFilter {}

@InputType({ description: 'Selects the groups of a user. All conditions must hold.' })
export class UserGroupFilter extends MembershipFilter {}

@InputType({ description: 'The order of memberships.' })
export class MembershipOrder {
  @Field(() => MembershipOrderField, { defaultValue: MembershipOrderField.NAME, description: 'Sort field.' })
  field!: MembershipOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Sort direction.' })
  direction!: OrderDirection;
}

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
