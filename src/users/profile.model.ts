import { Field, ID, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess, RequireScopes } from '../auth/access.js';
import { User } from './user.model.js';

@Personal()
@ObjectType({ description: 'The person that the token acts for.' })
export class Profile {
  constructor(person: User) {
    this.key = person.key;
    this.hasPhoto = person.hasPhoto;
    this.hasPicture = person.hasPicture;
    this.id = person.id;
    this.name = person.name;
    this.givenName = person.givenName;
    this.familyName = person.familyName;
    this.email = person.email;
    this.schoolYear = person.schoolYear;
    this.user = person;
  }

  /** Primary key of the row: never leaves the service. */
  key: number;
  hasPhoto: boolean;
  hasPicture: boolean;

  @InheritAccess()
  @Field(() => ID, { description: 'Your id in the directory, such as a login name.' })
  id: string;

  @InheritAccess()
  @Field(() => String, { description: 'Your full name, as it is shown to others.' })
  name: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'Your given name, where the directory has one.' })
  givenName: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'Your family name, where the directory has one.' })
  familyName: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'Your e-mail address, where the directory has one.' })
  email: string | null;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'Your school year, such as 1A or 2B; null for staff.' })
  schoolYear: string | null;

  @RequireScopes('read')
  @Field(() => User, { nullable: true, description: 'You, as the directory shows you to others.' })
  user: User;
}
