import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../auth/access.js';
import { readBuild } from '../config/build.js';
import { CachePolicy } from '../graphql/cache/response-cache.js';

@ObjectType({ description: 'The build of the service.' })
export class BuildInfo {
  @InheritAccess()
  @Field(() => String, { description: 'The semantic version.' })
  version!: string;

  @InheritAccess()
  @Field(() => String, {
    nullable: true,
    description: 'The commit from which the service was built. Null if it is unknown.',
  })
  commit!: string | null;
}

@Resolver()
export class BuildInfoResolver {
  private readonly build = readBuild();

  @Public()
  @CachePolicy()
  @Query(() => BuildInfo, { description: 'The version and the commit of the service.' })
  buildInfo(): BuildInfo {
    return this.build;
  }
}
