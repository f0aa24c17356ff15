import { Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { DirectoryStatusResolver } from './directory-status.resolver.js';
import { Leadership } from './leadership.js';
import { MirrorService } from './mirror.service.js';
import { MirrorState } from './mirror-state.js';
import { Synchroniser } from './synchroniser.js';

/** The copy of the directory: the only writer of its rows. */
@Module({
  providers: [
    DirectoryStatusResolver,
    { provide: Leadership, inject: [CONFIG], useFactory: (config: Config) => Leadership.ofService(config) },
    MirrorService,
    MirrorState,
    Synchroniser,
  ],
  exports: [Leadership, MirrorService, MirrorState, Synchroniser],
})
export class MirrorModule {}
