import { Field, ID, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import { connectionTypes } from '../graphql/schema/connection.js';
import { DateTime } from '../graphql/schema/scalars.js';

/** A group as the API shows it. `key` is ours and not in the schema. */
@ObjectType({ description: 'A group of people: a club, a class, a team. Groups may contain groups.' })
export class Group {
  /** Primary key of the row: never leaves the service. */
  key!: number;

  @InheritAccess()
  @Field(() => ID, { description: 'The id by which the directory knows the group.' })
  id!: string;

  @InheritAccess()
  @Field(() => String, { description: 'The name, as it is shown to people.' })
  name!: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'What the group is about.' })
  description!: string | null;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description:
      'The web site of the group: an http or https URL. One with user information, spaces, quotes or markup is not shown.',
  })
  website!: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The e-mail address of the group.' })
  email!: string | null;

  @InheritAccess()
  @Field(() => DateTime, { description: 'When the group came into the directory.' })
  createdAt!: Date;

  @InheritAccess()
  @Field(() => DateTime, {
    description: 'When this service last took over a change of the group from the directory.',
  })
  updatedAt!: Date;
}

export const { ConnectionType: GroupConnection } = connectionTypes('Group', () => Group, {
  connection: 'Groups, page by page.',
  nodes: 'The groups of this page.',
  edge: 'A group and its place in the order.',
  node: 'The group.',
});
