import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../auth/access.js';
import { DependsOn } from '../graphql/cache/cache-policy.decorator.js';
import { Direct } from '../graphql/schema/direct.decorator.js';
import { type Build, readBuild } from './build-info.js';

@ObjectType({ description: 'Which build of the service answers.' })
export class BuildInfo implements Build {
  @InheritAccess()
  @Field(() => String, { description: 'The version, as in semantic versioning.' })
  version!: string;

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The commit that it was built from.' })
  commit!: string | null;
}

@Resolver()
export class BuildInfoResolver {
  private readonly build = readBuild();

  @Public()
  @Direct()
  @DependsOn()
  @Query(() => BuildInfo, { description: 'Which build of the service answers.' })
  buildInfo(): BuildInfo {
    return this.build;
  }
}
