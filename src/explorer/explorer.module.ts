import { Module } from '@nestjs/common';
import { ServedPages } from '../pages/served-pages.js';
import { ExplorerAssets } from './explorer-assets.js';
import { ExplorerController } from './explorer.controller.js';

/** The explorer. Import it only where the settings enable it. */
@Module({ controllers: [ExplorerController], providers: [ExplorerAssets, ServedPages] })
export class ExplorerModule {}
