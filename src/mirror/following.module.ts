import { type DynamicModule, Global, Module } from '@nestjs/common';
import { MirrorFollowing } from './mirror-following.js';
import { MirrorModule } from './mirror.module.js';
import { LocalFollowing } from './local-following.js';
import { DirectoryStatusResolver } from './status/directory-status.resolver.js';

/** Chooses what keeps the mirror synchronized, and reports its status. The follower's process does not load this module. */
@Global()
@Module({})
export class FollowingModule {
  /** @param other null: this process follows the directory itself */
  static forRoot(other: MirrorFollowing | null): DynamicModule {
    return {
      module: FollowingModule,
      imports: [MirrorModule],
      providers: [
        DirectoryStatusResolver,
        {
          provide: MirrorFollowing,
          inject: [LocalFollowing],
          useFactory: (own: LocalFollowing) => other ?? own,
        },
      ],
      exports: [MirrorFollowing],
    };
  }
}
