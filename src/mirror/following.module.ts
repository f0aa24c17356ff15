import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Following } from './following.js';
import { MirrorModule } from './mirror.module.js';
import { MirrorService } from './mirror.service.js';
import { DirectoryStatusResolver } from './status/directory-status.resolver.js';

/** Chooses what keeps the mirror synchronized, and reports its status. The follower's process does not load this module. */
@Global()
@Module({})
export class FollowingModule {
  /** @param other null: this process follows the directory itself */
  static forRoot(other: Following | null): DynamicModule {
    return {
      module: FollowingModule,
      imports: [MirrorModule],
      providers: [
        DirectoryStatusResolver,
        { provide: Following, inject: [MirrorService], useFactory: (own: MirrorService) => other ?? own },
      ],
      exports: [Following],
    };
  }
}
