import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { CurrentRevision } from './revisions/revision.js';
import { DirectoryDataSource, type OpeningOptions } from './connections/data-source.js';
import { Database } from './database.js';
import { EmbeddedKeys } from './embedded/embedded-keys.js';
import { ReadServer } from './connections/read-server.js';
import { Revisions } from './revisions/revisions.js';
import { Staleness } from './staleness.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseAwayError } from './statements/database-error.js';
import { settlesWithin } from '../common/settles-within.js';

/** Provides the database, open and migrated before any other module starts. */
@Global()
@Module({
  providers: [
    CurrentRevision,
    {
      provide: ReadServer,
      inject: [CONFIG],
      useFactory: ({ database }: Config) =>
        database.readUrl === null ? null : new ReadServer(database.readUrl, database),
    },
    Database,
    EmbeddedKeys,
    Revisions,
    Staleness,
  ],
  exports: [Database, EmbeddedKeys, ReadServer, Revisions, Staleness],
})
export class DatabaseModule {
  /** @param waiting how the start waits for the database; null to fail at once */
  static forRoot(
    { database }: Config,
    entities: PostgresDataSourceOptions['entities'],
    waiting: Waiting | null = null,
    options: OpeningOptions = {},
  ): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: (): TypeOrmModuleOptions => ({ type: 'postgres', retryAttempts: 0 }),
          dataSourceFactory: () =>
            openWithRetry(new DirectoryDataSource(database, entities, options), waiting),
        }),
      ],
    };
  }
}

/**
 * Milliseconds within which a database usually is open and migrated, also on a busy machine. Until then the
 * port stays closed, so a load balancer sends no requests that would be rejected.
 */
const SOON = 3000;
/** Milliseconds between two attempts. */
const PAUSE = 500;

export interface Waiting {
  /** Ends the wait. The start then fails with the error of the last attempt. */
  readonly signal: AbortSignal;
  /** Called while the database is unavailable. `reason` is null if opening only takes longer than usual. */
  readonly onWait: (reason: string | null) => Promise<void>;
}

/** Opens a database, and retries while it is unavailable. Throws DatabaseStartError if it is unusable. */
async function openWithRetry(
  dataSource: DirectoryDataSource,
  waiting: Waiting | null,
): Promise<DirectoryDataSource> {
  if (waiting === null) return dataSource.initialize();
  for (;;) {
    const opening = dataSource.initialize();
    if (!(await settlesWithin(SOON, opening))) await waiting.onWait(null);
    try {
      return await opening;
    } catch (error) {
      if (!(error instanceof DatabaseAwayError) || waiting.signal.aborted) throw error;
      await waiting.onWait(error.message);
    }
    await sleep(PAUSE, undefined, { signal: waiting.signal }).catch(() => undefined);
  }
}
