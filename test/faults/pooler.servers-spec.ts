import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { createDatabase, variable } from '../support/servers/store.js';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findFreePort, findPostgresUser, giveToPostgres } from '../support/servers/postgres.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';
import { findProgram } from '../support/servers/system-packages.mjs';

/** A PgBouncer in front of the PostgreSQL of the tests, which pools sessions. */
class TestPgBouncer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  static async start(): Promise<TestPgBouncer> {
    const program = findProgram('pgbouncer');
    if (program === null) throw new Error('PgBouncer is not installed: npm test installs it first');
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'pgbouncer-'));
    giveToPostgres(directory);
    const port = await findFreePort();
    write(directory, port);
    // PgBouncer refuses to run as root.
    const child = spawnBound(program, ['-q', join(directory, 'pgbouncer.ini')], {
      stdio: 'ignore',
      ...findPostgresUser(),
    });
    const bouncer = new TestPgBouncer(child, port);
    await bouncer.untilReady();
    return bouncer;
  }

  /** URL of a database through the pooler. */
  through(url: string): string {
    const parsed = new URL(url);
    parsed.hostname = '127.0.0.1';
    parsed.port = String(this.port);
    return parsed.href;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private async untilReady(): Promise<void> {
    while (this.child.exitCode === null) {
      try {
        await this.showVersion();
        return;
      } catch {
        await sleep(50);
      }
    }
    throw new Error('PgBouncer did not start');
  }

  private async showVersion(): Promise<void> {
    const client = new pg.Client(`postgres://postgres@127.0.0.1:${this.port}/pgbouncer`);
    try {
      await client.connect();
      await client.query('show version');
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function write(directory: string, port: number): void {
  const server = new URL(variable('TEST_POSTGRES_URL'));
  const host = server.searchParams.get('host') ?? (server.hostname === '' ? '127.0.0.1' : server.hostname);
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${host} port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = session
default_pool_size = 50
ignore_startup_parameters = extra_float_digits
`,
  );
  chmodSync(file, 0o644);
}

it('behind a PgBouncer that pools sessions, the service follows the directory and answers', async () => {
  const database = await createDatabase();
  const bouncer = await TestPgBouncer.start();
  const service = await TestService.start({
    ldif: buildLdif([{ id: 'anna', name: 'Anna 1' }]),
    environment: { DATABASE_URL: bouncer.through(database.url) },
    compared: false,
  });
  try {
    const authorization = await service.serviceAccount('read');
    const query = '{ user(user: {id: "anna"}) { name } }';
    const read = async () => dataOf(await post(service, { query }, { authorization }));
    for (let time = 0; time < 3; time++) expect(await read()).toEqual({ user: { name: 'Anna 1' } });
    service.replaceDirectory(buildLdif([{ id: 'anna', name: 'Anna 2' }]));
    await eventually(read, { user: { name: 'Anna 2' } });
  } finally {
    await service.stop();
    await bouncer.stop();
    await database.drop();
  }
});
