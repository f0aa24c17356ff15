import pg from 'pg';
import { fillLargeDirectory } from '../builders/large-directory.mjs';
import { fillLargeLog } from '../builders/large-log.js';
import { createDatabase, type TestDatabase, variable } from './store.js';
import { makeTemplate } from './template.js';

const NAME = 'large_directory';

/** A database with a large directory and its log. The first suite that needs it fills it, because that takes as long as ten copies. */
export async function createLargeDatabase(): Promise<TestDatabase> {
  await makeTemplate(NAME, fill);
  return createDatabase(NAME);
}

async function fill(): Promise<void> {
  const { url } = await createDatabase(variable('TEST_POSTGRES_TEMPLATE'), NAME);
  const client = new pg.Client(url);
  await client.connect();
  try {
    await fillLargeDirectory((text) => client.query(text));
    await fillLargeLog((text) => client.query(text));
  } finally {
    await client.end();
  }
}
