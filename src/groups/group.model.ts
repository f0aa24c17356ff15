import { ObjectType, Field, ID, InputType } from '@nestjs/graphql';
import { propertyFields } from '../common/field.js';
import type { PageAhead } from '../database/paging/page.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { DeriveFields } from '../graphql/schema/derived-fields.js';
import { Node } from '../graphql/schema/node.js';
import { referenceFieldsOf } from '../graphql/schema/reference-fields.js';

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
  membershipsAhead: PageAhead | null = null;

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
