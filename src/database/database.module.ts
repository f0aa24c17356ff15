import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { DirectoryDataSource } from './data-source.js';
import { Database } from './database.js';
import { EmbeddedKeys } from './embedded-keys.js';
import { Revisions } from './revisions.js';

/** The database, open and migrated before anything else starts. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(config: Config, entities: PostgresDataSourceOptions['entities']): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: (): TypeOrmModuleOptions => ({ type: 'postgres', retryAttempts: 0 }),
          dataSourceFactory: () => Promise.resolve(new DirectoryDataSource(config.database, entities)),
        }),
      ],
      providers: [Database, EmbeddedKeys, Revisions],
      exports: [Database, EmbeddedKeys, Revisions],
    };
  }
}
