// Runs once before all end-to-end tests: starts PostgreSQL, and creates a migrated database, of which each test file gets a copy.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleService } from '../../scripts/bundle-service.mjs';
import { startPostgres } from './servers/postgres.mjs';
import makeWorkDirectory from './work-directory.mjs';

const TEMPLATE = 'directory_template';

export default async function setUp() {
  if (process.env.TEST_POSTGRES_URL !== undefined) return;
  if (!existsSync('dist/database/connections/data-source.js'))
    throw new Error('The tests need a build: npm run compile');
  makeWorkDirectory();
  const work = process.env.TEST_WORK_DIRECTORY;
  await Promise.all([bundleService(), startServer(join(work, 'postgres'))]);
}

async function startServer(directory) {
  const postgres = await startPostgres(directory);
  globalThis.testPostgres = postgres;
  const { default: pg } = await import('pg');
  const client = new pg.Client(postgres.url('postgres'));
  await client.connect();
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  await migrate({
    url: postgres.url(TEMPLATE),
    embedded: null,
    poolSize: 2,
    previewPoolSize: 2,
    timeoutSeconds: 60,
  });
  process.env.TEST_POSTGRES_URL = postgres.url('postgres');
  process.env.TEST_POSTGRES_TEMPLATE = TEMPLATE;
}

async function migrate(config) {
  const { DirectoryDataSource } = await import('../../dist/database/connections/data-source.js');
  const dataSource = new DirectoryDataSource(config, []);
  await dataSource.initialize();
  await dataSource.destroy();
}
