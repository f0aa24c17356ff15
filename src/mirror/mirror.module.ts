import { Global, Module } from '@nestjs/common';
import { MirrorFollowing } from './following.js';
import { DirectoryStatusResolver } from './status/directory-status.resolver.js';
import { MirrorState } from './status/mirror-state.js';
import { Synchronizer } from './synchronizer.js';

/** The mirror of the directory. This module is the only writer of its rows. */
@Global()
@Module({
  providers: [MirrorFollowing, MirrorState, Synchronizer, DirectoryStatusResolver],
  exports: [MirrorFollowing, MirrorState, Synchronizer],
})
export class MirrorModule {}
