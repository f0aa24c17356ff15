import { Module } from '@nestjs/common';
import { ExplorerAssets } from './explorer-assets.js';
import { ExplorerController } from './explorer.controller.js';

/** The explorer. Import it only where the settings want one. */
@Module({ controllers: [ExplorerController], providers: [ExplorerAssets] })
export class ExplorerModule {}
