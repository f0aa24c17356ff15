import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres, startPostgresReplica, type TestPostgres } from './postgres.mjs';
import { TestProxy } from './proxy.js';
import { variable } from './store.js';

const SETTINGS = {
  shared_buffers: '16MB',
  max_connections: 60,
  synchronous_commit: 'on',
  // A base backup, or a lagging standby, may need old WAL.
  wal_keep_size: '1GB',
};

/** A PostgreSQL with a database `directory`, and a streaming standby of it behind a proxy. */
export class ReplicatedPostgres {
  private constructor(
    readonly primary: TestPostgres,
    public standby: TestPostgres,
    readonly proxy: TestProxy,
    private readonly target: { host: string; port: number },
  ) {}

  static async start(): Promise<ReplicatedPostgres> {
    const primary = await startPostgres(makeDirectory(), SETTINGS);
    await administrate(primary, 'postgres', 'create database directory');
    await administrate(primary, 'postgres', 'create role reader login in role pg_read_all_data');
    const standby = await startPostgresReplica(makeDirectory(), primary, SETTINGS);
    const target = { host: '127.0.0.1', port: standby.port };
    return new ReplicatedPostgres(primary, standby, await TestProxy.start(target), target);
  }

  /** URL of the standby, of a user with read privileges only. */
  get readUrl(): string {
    return `postgres://reader@127.0.0.1:${this.proxy.port}/directory`;
  }

  /** Replaces a promoted standby by a new one. */
  async replaceStandby(): Promise<void> {
    await this.standby.stop();
    this.standby = await startPostgresReplica(makeDirectory(), this.primary, SETTINGS);
    this.target.port = this.standby.port;
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    for (const server of [this.primary, this.standby]) {
      server.resume();
      await server.stop();
    }
  }
}

export async function administrate(server: TestPostgres, database: string, statement: string): Promise<void> {
  const client = new pg.Client(server.url(database));
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Makes a standby lag. */
export const pause = (server: TestPostgres) =>
  administrate(server, 'postgres', 'select pg_wal_replay_pause()');
export const resumeReplay = (server: TestPostgres) =>
  administrate(server, 'postgres', 'select pg_wal_replay_resume()');

function makeDirectory(): string {
  return mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'replicated-'));
}
