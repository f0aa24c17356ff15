import { Field, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Profile } from '../../users/profile.model.js';
import { User } from '../../users/user.model.js';
import { ChangePayload } from '../change.model.js';

@ObjectType({ description: 'What `updateProfile` would do.' })
export class UpdateProfilePayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Profile, { description: 'You, as you would be.' })
  profile!: Profile;
}

@ObjectType({ description: 'What `updateUser` would do.' })
export class UpdateUserPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => User, { description: 'The person, as they would be.' })
  user!: User;
}
