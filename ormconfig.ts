import 'reflect-metadata';
import { readConfig } from './src/config/config.js';
import { loadEnvironmentFile } from './src/config/environment-file.js';
import { DirectoryDataSource } from './src/database/connections/data-source.js';
import { ENTITIES } from './src/entities.js';

loadEnvironmentFile();

/** The data source of TypeORM's command line (CONTRIBUTING.md): the database that the environment names. */
export const dataSource = new DirectoryDataSource(readConfig().database, ENTITIES);
