import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { findFreePort, findPostgresUser, giveToPostgres } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';
import { createDatabase, variable } from '../support/servers/store.js';
import { requireProgram } from '../support/servers/system-packages.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';

const configurationOf = (server: URL, port: number) => `[databases]
* = host=${server.hostname} port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 50
ignore_startup_parameters = extra_float_digits
`;

it('behind a PgBouncer that pools sessions, the service follows the directory and answers', async () => {
  const database = await createDatabase();
  const url = new URL(database.url);
  const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'pgbouncer-'));
  giveToPostgres(directory);
  const port = await findFreePort();
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(file, configurationOf(url, port), { mode: 0o644 });
  // PgBouncer refuses to run as root.
  const user = findPostgresUser();
  const bouncer = spawnBound(requireProgram('pgbouncer'), ['-q', file], { stdio: 'ignore', ...user });
  const ended = once(bouncer, 'exit');
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const connect = async () => {
    const client = new pg.Client(url.href);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  };
  await eventually(connect, true);
  const service = await TestService.start({
    ldif: buildLdif([{ id: 'anna', name: 'Anna 1' }]),
    environment: { DATABASE_URL: url.href },
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
    bouncer.kill('SIGKILL');
    await ended;
    await database.drop();
  }
});
