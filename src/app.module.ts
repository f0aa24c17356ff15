import { type DynamicModule, Module } from '@nestjs/common';
import { AccessLogModule } from './access-log/access-log.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ChangesModule } from './changes/changes.module.js';
import type { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule, type Waiting } from './database/database.module.js';
import { ENTITIES } from './entities.js';
import { ExplorerModule } from './explorer/explorer.module.js';
import { FieldReferencesModule } from './field-references/field-references.module.js';
import { GraphQLModule } from './graphql/graphql.module.js';
import { GroupsModule } from './groups/groups.module.js';
import { HealthModule } from './health/health.module.js';
import { GracefulShutdown } from './http/lifecycle.js';
import { IdentityProviderModule } from './identity-provider/identity-provider.module.js';
import { LimitsModule } from './limits/limits.module.js';
import { MediaModule } from './media/media.module.js';
import { MembershipsModule } from './memberships/memberships.module.js';
import { MirrorModule } from './mirror/mirror.module.js';
import { MonitoringModule } from './monitoring/monitoring.module.js';
import { NodesModule } from './nodes/nodes.module.js';
import { PreviewsModule } from './previews/previews.module.js';
import { ReferenceModule } from './reference/reference.module.js';
import { SearchModule } from './search/search.module.js';
import { ServiceAccountsModule } from './service-accounts/service-accounts.module.js';
import { UsersModule } from './users/users.module.js';

/** The modules of the application. */
@Module({})
export class AppModule {
  /** @param waiting how the start waits for the database; null: not at all */
  static forRoot(config: Config, waiting: Waiting | null = null): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(config, ENTITIES, waiting),
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
        ChangesModule,
        MirrorModule,
        PreviewsModule,
        HealthModule,
        ExplorerModule.forRoot(config),
        ReferenceModule,
        MonitoringModule.forRoot(config),
        ...(config.auth.issuer === null ? [IdentityProviderModule] : []),
      ],
      providers: [GracefulShutdown],
    };
  }
}
