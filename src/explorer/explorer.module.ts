import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { GraphQLModule } from '../graphql/graphql.module.js';
import { ServiceAccountsModule } from '../service-accounts/service-accounts.module.js';
import { ExplorerController } from './explorer.controller.js';
import { SchemaController } from './schema.controller.js';
import { StartPageController } from './start-page.js';

/** The start page, and where the settings enable them the schema as text and the explorer. */
@Module({})
export class ExplorerModule {
  static forRoot({ disclosure, explorer }: Config): DynamicModule {
    return {
      module: ExplorerModule,
      imports: [GraphQLModule, ServiceAccountsModule],
      controllers: [
        StartPageController,
        ...(disclosure.introspection ? [SchemaController] : []),
        ...(explorer === null ? [] : [ExplorerController]),
      ],
    };
  }
}
