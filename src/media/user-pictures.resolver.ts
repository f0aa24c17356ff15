import { applyDecorators } from '@nestjs/common';
import { Args, ArgsType, Field, Int, Parent, ResolveField, Resolver } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import { Profile, User } from '../users/user.model.js';
import { USER_FIELDS } from '../users/user.fields.js';
import { LONGEST_SIDE, PICTURE_SIZES, type PictureKind } from './signing/signed-url.js';
import { SignedUrls } from './signing/signed-urls.js';

const SIZE =
  `The side of the square into which the picture fits, in pixels, from 1 to ${PICTURE_SIZES.at(-1) ?? ''}. ` +
  `Of the sizes ${PICTURE_SIZES.slice(0, -1).join(', ')} and ${PICTURE_SIZES.at(-1) ?? ''}, the smallest one that is not smaller is used. ` +
  `The picture is scaled down, never up, and not cropped. If omitted, it has its own size, at most ${LONGEST_SIDE.toLocaleString('en')} pixels a side.`;

@ArgsType()
class PictureArguments {
  @Field(() => Int, { nullable: true, description: SIZE })
  size?: number | null;
}

function SignedUrlField(name: PictureKind): MethodDecorator {
  const description = USER_FIELDS.find((field) => field.name === name)?.description ?? '';
  return applyDecorators(
    InheritAccess(),
    ResolveField(() => String, { nullable: true, description }),
  );
}

/** The same two fields of a user and of the own profile. */
function picturesOf(type: typeof User | typeof Profile) {
  @Resolver(() => type)
  class PicturesResolver {
    constructor(private readonly urls: SignedUrls) {}

    @SignedUrlField('photo')
    photo(@Parent() user: User | Profile, @Args() { size }: PictureArguments): string | null {
      return this.urls.find('photo', user, size ?? null);
    }

    @SignedUrlField('picture')
    picture(@Parent() user: User | Profile, @Args() { size }: PictureArguments): string | null {
      return this.urls.find('picture', user, size ?? null);
    }
  }
  return PicturesResolver;
}

export const UserPicturesResolver = picturesOf(User);
export const ProfilePicturesResolver = picturesOf(Profile);
