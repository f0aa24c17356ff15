import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AccessLogModule } from './access-log/access-log.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ChangesModule } from './changes/changes.module.js';
import type { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ENTITIES } from './entities.js';
import { ExplorerModule } from './explorer/explorer.module.js';
import { FieldReferencesModule } from './field-references/field-references.module.js';
import { GRAPHQL_REJECTIONS } from './graphql/errors/error-response.js';
import { GraphQLModule } from './graphql/graphql.module.js';
import { GroupsModule } from './groups/groups.module.js';
import { HealthModule } from './health/health.module.js';
import { GracefulShutdown, HttpAdapter } from './http/http-adapter.js';
import { RethrowFilter } from './http/rejection.js';
import { IdentityProviderModule } from './identity-provider/identity-provider.js';
import { LimitsModule } from './limits/limits.js';
import { PICTURE_REJECTIONS } from './media/media.controller.js';
import { MediaModule } from './media/media.module.js';
import { MembershipsModule } from './memberships/memberships.module.js';
import { MirrorModule } from './mirror/mirror.module.js';
import { NestLog } from './monitoring/log.js';
import { MonitoringModule } from './monitoring/monitoring.module.js';
import { RequestWatch } from './monitoring/request-watch.js';
import { NodesModule } from './nodes/nodes.module.js';
import { PreviewsModule } from './previews/previews.module.js';
import { SCIM_REJECTIONS } from './scim/scim-query.js';
import { ScimModule } from './scim/scim.controller.js';
import { SearchModule } from './search/search.module.js';
import { ServiceAccountsModule } from './service-accounts/service-accounts.module.js';
import { UsersModule } from './users/users.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** The modules of the application. */
@Module({})
export class AppModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(config, ENTITIES),
        LimitsModule,
        AccessLogModule,
        AuthModule,
        GraphQLModule,
        UsersModule,
        GroupsModule,
        ServiceAccountsModule,
        MembershipsModule,
        FieldReferencesModule,
        MediaModule,
        NodesModule,
        SearchModule,
        ScimModule,
        ChangesModule,
        MirrorModule,
        ...(config.webhooks.length > 0 ? [WebhooksModule] : []),
        PreviewsModule,
        HealthModule,
        ExplorerModule.forRoot(config),
        MonitoringModule.forRoot(config),
        ...(config.auth.issuer === null ? [IdentityProviderModule] : []),
      ],
      providers: [GracefulShutdown],
    };
  }
}

/** How rejections are written below the paths that have a form of their own. */
export const REJECTION_FORMS = [GRAPHQL_REJECTIONS, PICTURE_REJECTIONS, SCIM_REJECTIONS];

/** Builds the HTTP application, which does not listen yet, and whose database is not open. */
export async function createApp(config: Config): Promise<NestFastifyApplication> {
  const adapter = new HttpAdapter(config, REJECTION_FORMS);
  const options = { logger: NestLog.of(config), abortOnError: false };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), adapter, options);
  // The first step of all requests.
  app.get(RequestWatch).register(adapter.getInstance());
  app.useGlobalFilters(new RethrowFilter());
  return app;
}
