import { Field, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Profile } from '../../users/profile.model.js';
import { User } from '../../users/user.model.js';
import { ChangePayload } from '../change.model.js';

@ObjectType({ description: 'The result of `updateProfile`.' })
export class UpdateProfilePayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Profile, { description: 'The profile as it would be after the change.' })
  profile!: Profile;
}

@ObjectType({ description: 'The result of `updateUser`.' })
export class UpdateUserPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => User, { description: 'The user as they would be after the change.' })
  user!: User;
}
