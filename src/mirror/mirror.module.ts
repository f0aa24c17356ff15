import { Module } from '@nestjs/common';
import { DirectoryStatusResolver } from './directory-status.resolver.js';
import { MirrorService } from './mirror.service.js';
import { MirrorState } from './mirror-state.js';
import { Synchroniser } from './synchroniser.js';

/** The copy of the directory: the only writer of its rows. */
@Module({
  providers: [DirectoryStatusResolver, MirrorService, MirrorState, Synchroniser],
  exports: [MirrorService, MirrorState, Synchroniser],
})
export class MirrorModule {}
