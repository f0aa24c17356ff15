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
  ROLE = 'ROLE',
}

registerEnumType(MembershipOrderField, {
  name: 'MembershipOrderField',
  description: 'The fields by which memberships can be ordered.',
  valuesMap: {
    NAME: {
      description: 'The name of the listed node: of the users in a group, or of the groups of a user.',
    },
    ROLE: { description: 'The effective role, from MEMBER to OWNER, then the name.' },
  },
});

@DeriveFields(({ directory }) => filtersOf(directory.mapping.users.fields))
@InputType({ description: 'Selects memberships. All conditions must hold.' })
export class UserMemberFilter {
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

@InputType({ description: 'The order of memberships.' })
export class MembershipOrder {
  @Field(() => MembershipOrderField, { defaultValue: MembershipOrderField.NAME, description: 'Sort field.' })
  field!: MembershipOrderField;

  @Field(() => OrderDirection, { defaultValue: OrderDirection.ASC, description: 'Sort direction.' })
  direction!: OrderDirection;
}

@ArgsType()
export class MembershipArguments extends ConnectionArguments {
  @Field(() => UserMemberFilter, {
    nullable: true,
    description: 'Selects the memberships. If omitted, all of them.',
  })
  filter?: UserMemberFilter | null;

  @Field(() => MembershipOrder, { nullable: true, description: 'The order. If omitted, by name.' })
  orderBy?: MembershipOrder | null;
}
