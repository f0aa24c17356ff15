import 'reflect-metadata';
import { readConfig } from './src/config/config.js';
import { loadEnvironmentFile } from './src/config/environment-file.js';
import { DirectoryDataSource } from './src/database/connections/data-source.js';
import { ENTITIES } from './src/entities.js';

loadEnvironmentFile();

/** The data source of TypeORM's command line (CONTRIBUTING.md), for the database of the environment. */
export const dataSource = new DirectoryDataSource(readConfig().database, ENTITIES);
