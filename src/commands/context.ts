import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { type OpeningOptions, DirectoryDataSource } from '../database/connections/data-source.js';
import { ENTITIES } from '../entities.js';
import { NestLog } from '../monitoring/log.js';
import { withLateProgress } from './progress.js';

/**
 * Opens the database while `work` runs, without building the whole application, which would take longer.
 * @param options by default the tables are created and migrated, as at a start
 */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
  options?: OpeningOptions,
): Promise<Result> {
  // Standard output is reserved for the result of the command. Errors go to standard error as text.
  const monitoring = { ...config.monitoring, logFormat: 'text' } as const;
  Logger.overrideLogger(NestLog.of({ logLevel: 'warn', monitoring }, process.stderr));
  const dataSource = new DirectoryDataSource(config.database, ENTITIES, { prepares: true, ...options });
  await withLateProgress('Opening the database', () => dataSource.initialize());
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
