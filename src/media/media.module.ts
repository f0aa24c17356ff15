import { Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { EmbeddedKeys } from '../database/embedded/embedded-keys.js';
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
      inject: [CONFIG, EmbeddedKeys],
      useFactory: async (config: Config, embedded: EmbeddedKeys) => {
        const keys = {};
        await embedded.whenOpen(async () => Object.assign(keys, await readSigningKeys(config, embedded)));
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
