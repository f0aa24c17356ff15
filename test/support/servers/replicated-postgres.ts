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
  // A base backup, or a lagging replica, may need old WAL.
  wal_keep_size: '1GB',
};

/** A streaming replica behind a proxy. */
export interface ReplicaBehindProxy {
  server: TestPostgres;
  readonly proxy: TestProxy;
  /** The target of the proxy. */
  readonly target: { host: string; port: number };
}

/** A PostgreSQL with a database `directory`, and two streaming replicas of it, each behind a proxy. */
export class ReplicatedPostgres {
  private constructor(
    readonly primary: TestPostgres,
    readonly replicas: readonly [ReplicaBehindProxy, ReplicaBehindProxy],
    private readonly servers: TestPostgres[],
  ) {}

  static async start(): Promise<ReplicatedPostgres> {
    const primary = await startPostgres(makeDirectory(), SETTINGS);
    await administrate(primary, 'postgres', 'create database directory');
    await administrate(primary, 'postgres', 'create role reader login in role pg_read_all_data');
    const replicas = await Promise.all([startReplica(primary), startReplica(primary)]);
    return new ReplicatedPostgres(primary, replicas, [primary, ...replicas.map(({ server }) => server)]);
  }

  /** The replicas, as in DATABASE_REPLICA_URLS. */
  get replicaUrls(): string {
    return this.replicas.map(({ proxy }) => urlOfReader(proxy)).join(',');
  }

  /** Replaces a promoted replica by a new one. */
  async replace(replica: ReplicaBehindProxy): Promise<void> {
    await replica.server.stop();
    replica.server = await startPostgresReplica(makeDirectory(), this.primary, SETTINGS);
    replica.target.port = replica.server.port;
    this.servers.push(replica.server);
  }

  /**
   * Promotes a replica, writes to it, and puts a replica of it behind the proxy: in recovery, with a timeline that the primary
   * does not have.
   * @param statements executed on the promoted server
   * @returns the promoted server
   */
  async orphan(replica: ReplicaBehindProxy, statements: readonly string[]): Promise<TestPostgres> {
    const promoted = replica.server;
    await promoted.promote();
    for (const statement of statements) await administrate(promoted, 'directory', statement);
    replica.server = await startPostgresReplica(makeDirectory(), promoted, SETTINGS);
    replica.target.port = replica.server.port;
    this.servers.push(replica.server);
    // An open connection stays with the promoted server, independent of the proxy's target.
    await endConnections(promoted, 'true');
    return promoted;
  }

  async stop(): Promise<void> {
    for (const { proxy } of this.replicas) await proxy.stop();
    for (const server of this.servers) {
      server.resume();
      await server.stop();
    }
  }
}

/** URL of a user with read privileges only. */
export const urlOfReader = ({ port }: { readonly port: number }) =>
  `postgres://reader@127.0.0.1:${port}/directory`;

export async function administrate(server: TestPostgres, database: string, statement: string): Promise<void> {
  const client = new pg.Client(server.url(database));
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** @param which a condition on pg_stat_activity */
export const endConnections = (server: TestPostgres, which: string) =>
  administrate(
    server,
    'postgres',
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'directory' and ${which}`,
  );

/** Makes a replica lag. */
export const pause = (server: TestPostgres) =>
  administrate(server, 'postgres', 'select pg_wal_replay_pause()');
export const resumeReplay = (server: TestPostgres) =>
  administrate(server, 'postgres', 'select pg_wal_replay_resume()');

async function startReplica(primary: TestPostgres): Promise<ReplicaBehindProxy> {
  const server = await startPostgresReplica(makeDirectory(), primary, SETTINGS);
  const target = { host: '127.0.0.1', port: server.port };
  return { server, proxy: await TestProxy.start(target), target };
}

function makeDirectory(): string {
  return mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'replicated-'));
}
