import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { CurrentRevision } from './revisions/current-revision.js';
import { DirectoryDataSource } from './connections/data-source.js';
import { Database } from './database.js';
import { EmbeddedKeys } from './embedded/embedded-keys.js';
import { openPatiently, type Waiting } from './connections/open-with-retry.js';
import { Replicas } from './connections/replicas.js';
import { Revisions } from './revisions/revisions.js';
import { RoutedDatabase } from './connections/routed-database.js';
import { SessionGuard } from './connections/pooler-guard.js';
import { Staleness } from './staleness.js';

/** Provides the database, open and migrated before any other module starts. */
@Global()
@Module({})
export class DatabaseModule {
  /** @param waiting how the start waits for the database; null to fail at once */
  static forRoot(
    config: Config,
    entities: PostgresDataSourceOptions['entities'],
    waiting: Waiting | null = null,
  ): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: (): TypeOrmModuleOptions => ({ type: 'postgres', retryAttempts: 0 }),
          // An embedded database is never temporarily unavailable.
          dataSourceFactory: () =>
            openPatiently(
              new DirectoryDataSource(config.database, entities),
              config.database.kind === 'pglite' ? null : waiting,
            ),
        }),
      ],
      providers: [
        CurrentRevision,
        {
          provide: Replicas,
          inject: [CurrentRevision, DataSource],
          useFactory: (revision: CurrentRevision, primary: DirectoryDataSource) =>
            Replicas.of(config.database, revision, primary),
        },
        {
          provide: Database,
          inject: [DataSource, CurrentRevision, Replicas],
          useFactory: (
            dataSource: DirectoryDataSource,
            revision: CurrentRevision,
            replicas: Replicas | null,
          ) =>
            replicas === null
              ? new Database(dataSource, revision)
              : new RoutedDatabase(dataSource, revision, replicas),
        },
        EmbeddedKeys,
        Revisions,
        SessionGuard,
        Staleness,
      ],
      exports: [Database, EmbeddedKeys, Replicas, Revisions, SessionGuard, Staleness],
    };
  }
}
