import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import type { DirectoryDataSource } from '../database/connections/data-source.js';
import { MediaController } from './media.controller.js';
import { PictureRenderer } from './rendering/picture-renderer.js';
import { SignedUrls } from './signing/signed-urls.js';
import { readSigningKeys, SIGNING_KEYS } from './signing/signing-keys.js';
import { ProfilePicturesResolver, UserPicturesResolver } from './user-pictures.resolver.js';

@Module({
  controllers: [MediaController],
  providers: [
    {
      provide: SIGNING_KEYS,
      inject: [CONFIG, DataSource],
      useFactory: async (config: Config, dataSource: DirectoryDataSource) => {
        const keys = {};
        await dataSource.whenOpen(async () => Object.assign(keys, await readSigningKeys(config, dataSource)));
        return keys;
      },
    },
    SignedUrls,
    PictureRenderer,
    UserPicturesResolver,
    ProfilePicturesResolver,
  ],
  exports: [SignedUrls],
})
export class MediaModule {}
