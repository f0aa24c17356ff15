import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { DirectoryDataSource } from './connections/data-source.js';
import { Database } from './database.js';
import { Revisions } from './revisions.js';

/** Provides the database, open and migrated before any other module starts, or later. */
@Global()
@Module({
  providers: [Database, Revisions],
  exports: [Database, Revisions],
})
export class DatabaseModule {
  /** @param opensLater whether the database is opened by `DirectoryDataSource.initialize` while the application runs already */
  static forRoot(
    { database }: Config,
    entities: PostgresDataSourceOptions['entities'],
    opensLater: boolean,
  ): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: (): TypeOrmModuleOptions => ({
            type: 'postgres',
            retryAttempts: 0,
            manualInitialization: opensLater,
          }),
          dataSourceFactory: () => Promise.resolve(new DirectoryDataSource(database, entities)),
        }),
      ],
    };
  }
}
