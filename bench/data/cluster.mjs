// PostgreSQL with settings for a server of this size, and its databases.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../test/support/servers/postgres.mjs';

/** All data fits into memory. Nothing is written during a measurement, so settings of durability have no effect. */
const SETTINGS = {
  shared_buffers: '2GB',
  effective_cache_size: '6GB',
  work_mem: '16MB',
  random_page_cost: 1.1,
  effective_io_concurrency: 200,
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
};

/** Held by the process that synchronizes: while the benchmark holds it, the service does not synchronize. */
const SYNCHRONIZATION_LOCK = 0x73796e63;

export class Cluster {
  static async start(directory, resources) {
    const server = await startPostgres(directory, SETTINGS);
    resources.defer(() => server.stop());
    return new Cluster(server, join(directory, 'data'), resources);
  }

  constructor(server, data, resources) {
    this.server = server;
    this.resources = resources;
    this.pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  /** Creates an empty database that is not synchronized. */
  async create(name) {
    const admin = await this.#connect('postgres');
    await admin.query(`create database ${name}`);
    const { rows } = await admin.query(`show server_version`);
    this.version = rows[0].server_version.split(' ')[0];
    const connection = await this.#connect(name);
    await connection.query('select pg_advisory_lock($1)', [SYNCHRONIZATION_LOCK]);
    return { url: this.server.url(name), connection };
  }

  async #connect(database) {
    const client = new pg.Client(this.server.url(database));
    // The server is stopped with connections open.
    client.on('error', () => undefined);
    await client.connect();
    this.resources.defer(() => client.end().catch(() => undefined));
    return client;
  }
}
