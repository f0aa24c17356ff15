import { readFileSync } from 'node:fs';
import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { InheritAccess, Public } from '../auth/access.js';
import { CachePolicy } from '../graphql/cache/cache-policy.decorator.js';
import { Direct } from '../graphql/schema/resolver-methods.js';

export interface Build {
  readonly version: string;
  /** Null if the build was not made from a checkout, as in tests. */
  readonly commit: string | null;
}

/** The version and the commit that scripts/write-build.mjs has written beside the compiled code. */
export function readBuild(): Build {
  const read = (path: string): Partial<Build> => {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Partial<Build>;
    } catch {
      return {}; // Not built. The version is that of package.json.
    }
  };
  const build = read('../build.json');
  return {
    version: build.version ?? read('../../package.json').version ?? 'unknown',
    commit: build.commit ?? null,
  };
}

@ObjectType({ description: 'The build of the service.' })
export class BuildInfo implements Build {
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
  @Direct()
  @CachePolicy()
  @Query(() => BuildInfo, { description: 'The version and the commit of the service.' })
  buildInfo(): BuildInfo {
    return this.build;
  }
}
