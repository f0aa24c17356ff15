import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { ServiceAccountsModule } from '../service-accounts/service-accounts.module.js';
import { ExplorerAssets, ExplorerController } from './explorer.controller.js';
import { StartPageController } from './start-page.controller.js';

/** The start page, and the explorer where the settings enable it. */
@Module({})
export class ExplorerModule {
  static forRoot({ explorer }: Config): DynamicModule {
    return {
      module: ExplorerModule,
      imports: [ServiceAccountsModule],
      controllers: [StartPageController, ...(explorer === null ? [] : [ExplorerController])],
      providers: explorer === null ? [] : [ExplorerAssets],
    };
  }
}
