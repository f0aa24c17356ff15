import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { DirectoryDataSource } from '../database/connections/data-source.js';
import { ENTITIES } from '../entities.js';
import { NestLog } from '../monitoring/log.js';
import { withLateProgress } from './progress.js';

/** Opens the database while `work` runs, without building the whole application, which would take longer. */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
): Promise<Result> {
  // Standard output is reserved for the result of the command. Errors go to standard error as text.
  const monitoring = { ...config.monitoring, logFormat: 'text' } as const;
  Logger.overrideLogger(NestLog.of({ logLevel: 'warn', monitoring }, process.stderr));
  const dataSource = new DirectoryDataSource(config.database, ENTITIES);
  await withLateProgress('Opening the database', () => dataSource.initialize());
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
