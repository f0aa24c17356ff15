import { applyDecorators } from '@nestjs/common';
import { Args, ArgsType, Field, Int, Parent, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { Direct } from '../graphql/schema/direct.decorator.js';
import { Profile } from '../users/profile.model.js';
import { User } from '../users/user.model.js';
import { SignedUrls } from './signing/signed-urls.js';

const PHOTO =
  'A signed URL of the photo that the directory holds, or null when there is none. It needs no token, works in an ' +
  '`img` element, and is valid for an hour: ask for a new one then. JPEG, or AVIF or WebP for clients that name ' +
  'them in Accept.';
const PICTURE =
  'A signed URL of the picture that the person chose for themselves, or null when there is none. It is used like ' +
  'the URL of `photo`.';
const SIZE =
  'Pixels of the square that the picture fits into: 64, 128, 256 or 512. It is scaled down, never up, and not ' +
  'cropped. Left out: the size that it has, at most 2,048 pixels a side.';

@ArgsType()
class PictureArguments {
  @Field(() => Int, { nullable: true, description: SIZE })
  size?: number | null;
}

function SignedUrlField(description: string): MethodDecorator {
  return applyDecorators(
    InheritAccess(),
    DependsOn('minute'),
    Direct(),
    ResolveField(() => String, { nullable: true, description }),
  );
}

/** What people look like to others. */
@Resolver(() => User)
export class UserPicturesResolver {
  constructor(private readonly urls: SignedUrls) {}

  @SignedUrlField(PHOTO)
  photo(@Parent() user: User, @Args() { size }: PictureArguments): string | null {
    return this.urls.find('photo', user, size ?? null);
  }

  @SignedUrlField(PICTURE)
  picture(@Parent() user: User, @Args() { size }: PictureArguments): string | null {
    return this.urls.find('picture', user, size ?? null);
  }
}

/** What the person that the token acts for looks like. */
@Resolver(() => Profile)
export class ProfilePicturesResolver {
  constructor(private readonly urls: SignedUrls) {}

  @SignedUrlField(PHOTO)
  photo(@Parent() profile: Profile, @Args() { size }: PictureArguments): string | null {
    return this.urls.find('photo', profile, size ?? null);
  }

  @SignedUrlField(PICTURE)
  picture(@Parent() profile: Profile, @Args() { size }: PictureArguments): string | null {
    return this.urls.find('picture', profile, size ?? null);
  }
}
