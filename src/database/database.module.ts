import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { DirectoryDataSource } from './connections/data-source.js';
import { Database } from './database.js';
import { Revisions } from './revisions.js';

/** Provides the database, which `DirectoryDataSource.initialize` opens and migrates while the application runs already. */
@Global()
@Module({
  providers: [Database, Revisions],
  exports: [Database, Revisions],
})
export class DatabaseModule {
  static forRoot({ database }: Config, entities: PostgresDataSourceOptions['entities']): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: (): TypeOrmModuleOptions => ({ type: 'postgres', manualInitialization: true }),
          dataSourceFactory: () => Promise.resolve(new DirectoryDataSource(database, entities)),
        }),
      ],
    };
  }
}
