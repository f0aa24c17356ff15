import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A database of a test, migrated and empty. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** @param template the database of the server to copy */
export async function createDatabase(
  template = variable('TEST_POSTGRES_TEMPLATE'),
  name = `test_${randomBytes(6).toString('hex')}`,
): Promise<TestDatabase> {
  const server = variable('TEST_POSTGRES_URL');
  // Copying the files takes half of the processor time of writing them to the log of the server.
  await administrate(server, `create database ${name} template ${template} strategy file_copy`);
  return {
    url: server.replace(/[^/]*$/, name),
    drop: () => administrate(server, `drop database ${name} with (force)`),
  };
}

async function administrate(server: string, statement: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

export function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests by npm test`);
  return value;
}
