import { Field, ID, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { DateTime } from '../graphql/schema/scalars.js';

/** A person as the API shows one to others. `key`, `hasPhoto` and `hasPicture` are ours and not in the schema. */
@Personal()
@ObjectType({ description: 'A person of the directory.' })
export class User {
  /** Primary key of the row: never leaves the service. */
  key!: number;
  hasPhoto!: boolean;
  hasPicture!: boolean;

  @InheritAccess()
  @Field(() => ID, { description: 'The id by which the directory knows the person, such as a login name.' })
  id!: string;

  @InheritAccess()
  @Field(() => String, { description: 'The full name, as it is shown to others.' })
  name!: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The given name, where the directory has one.' })
  givenName!: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The family name, where the directory has one.' })
  familyName!: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The e-mail address, where the directory has one.' })
  email!: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The school year, such as 1A or 2B; null for staff.' })
  schoolYear!: string | null;

  @InheritAccess()
  @Field(() => DateTime, { description: 'When the person came into the directory.' })
  createdAt!: Date;

  @InheritAccess()
  @Field(() => DateTime, {
    description: 'When this service last took over a change of the person from the directory.',
  })
  updatedAt!: Date;
}
