import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { nameDatabase } from '../config/settings/database.js';
import { DirectoryDataSource } from '../database/connections/data-source.js';
import { DatabaseStartError } from '../database/statements/database-error.js';
import { EmbeddedServer } from '../database/embedded/embedded-server.js';
import { ENTITIES } from '../entities.js';
import { NestLog } from '../monitoring/log.js';
import { withProgress } from './progress.js';

interface CommandOptions {
  /** Default: true. Otherwise nothing is changed in the database. */
  readonly migrates?: boolean;
  /** Whether an embedded database is created if there is none. Default: false. */
  readonly creates?: boolean;
}

/** Whether the settings name an embedded database that no service has used yet. */
export function isMissing({ database }: Pick<Config, 'database'>): boolean {
  return database.embedded !== null && !EmbeddedServer.isCreated(database.embedded);
}

/**
 * Opens the database while `work` runs, without building the whole application, which would take longer.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
  { creates = false, migrates = true }: CommandOptions = {},
): Promise<Result> {
  if (!creates && isMissing(config))
    throw new DatabaseStartError(
      `The ${nameDatabase(config.database)} does not exist: no service has used it. Start the service first, or set DATABASE_URL ` +
        'to the database of the service. «sync» and «service-account create» create it with --new',
    );
  // Standard output is reserved for the result of the command. Errors go to standard error as text.
  const monitoring = { ...config.monitoring, logFormat: 'text' } as const;
  Logger.overrideLogger(NestLog.of({ logLevel: 'warn', monitoring }, process.stderr));
  const dataSource = new DirectoryDataSource(config.database, ENTITIES, migrates);
  await withProgress((show) => {
    show('Opening the database');
    return dataSource.initialize();
  });
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
