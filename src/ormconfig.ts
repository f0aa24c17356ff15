import 'reflect-metadata';
import { readConfig } from './config/config.js';
import { loadEnvironmentFile } from './config/environment-file.js';
import { DirectoryDataSource } from './database/connections/data-source.js';
import { ENTITIES } from './entities.js';

loadEnvironmentFile();

/** For TypeORM's command line, which opens it: the database that the environment names (CONTRIBUTING.md). */
export const dataSource = new DirectoryDataSource(readConfig().database, ENTITIES);
