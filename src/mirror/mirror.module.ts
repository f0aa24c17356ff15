import { Module } from '@nestjs/common';
import { Leadership } from './sync/leadership.js';
import { LocalFollowing } from './local-following.js';
import { MirrorState } from './status/mirror-state.js';
import { Synchronizer } from './sync/synchronizer.js';

/** The mirror of the directory. This module is the only writer of its rows. */
@Module({
  providers: [
    { provide: Leadership, useFactory: () => Leadership.ofService() },
    LocalFollowing,
    MirrorState,
    Synchronizer,
  ],
  exports: [Leadership, LocalFollowing, MirrorState, Synchronizer],
})
export class MirrorModule {}
