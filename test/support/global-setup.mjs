// Runs once before all end-to-end tests: creates a migrated database of each kind, of which each test file gets a copy.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from './servers/postgres.mjs';
import { bundleService } from './bundle.mjs';
import makeWorkDirectory from './work-directory.mjs';

const TEMPLATE = 'directory_template';

export default async function setUp() {
  if (process.env.TEST_POSTGRES_URL !== undefined) return;
  if (!existsSync('dist/database/connections/data-source.js'))
    throw new Error('The tests need a build: npm run build');
  const { DirectoryDataSource } = await import('../../dist/database/connections/data-source.js');

  await bundleService();

  makeWorkDirectory();
  const work = process.env.TEST_WORK_DIRECTORY;

  const directory = join(work, 'template');
  const embedded = new DirectoryDataSource({ kind: 'pglite', directory }, []);
  await embedded.initialize();
  await embedded.destroy();
  process.env.TEST_PGLITE_TEMPLATE = directory;

  const postgres = await startPostgres(join(work, 'postgres'));
  globalThis.testPostgres = postgres;
  const { default: pg } = await import('pg');
  const client = new pg.Client(postgres.url('postgres'));
  await client.connect();
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  const template = new DirectoryDataSource(
    { kind: 'postgres', url: postgres.url(TEMPLATE), poolSize: 2 },
    [],
  );
  await template.initialize();
  await template.destroy();
  process.env.TEST_POSTGRES_URL = postgres.url('postgres');
  process.env.TEST_POSTGRES_TEMPLATE = TEMPLATE;
}
