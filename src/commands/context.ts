import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { DirectoryDataSource } from '../database/connections/data-source.js';
import { ENTITIES } from '../entities.js';
import { NestLog } from '../monitoring/logging/nest-log.js';
import { withLateProgress } from './progress.js';

/**
 * Opens the database for as long as `work` takes. A command needs one or two services, which are made by hand: to
 * build the whole house for them would take longer than their work.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (dataSource: DirectoryDataSource) => Promise<Result>,
): Promise<Result> {
  // What a command prints is its answer; only what goes wrong is told beside it, to people.
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
