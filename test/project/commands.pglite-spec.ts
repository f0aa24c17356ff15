import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '../../src/config/config.js';
import { listenForCommands } from '../../src/commands/local/local-endpoint.js';
import { NoServiceError } from '../../src/commands/local/execute-in-service.js';
import { RemoteAccounts } from '../../src/commands/local/remote-accounts.js';
import { runCommand, TestProcess } from '../support/clients/command.js';
import { buildLdif } from '../support/builders/directory.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

/** commands.postgres-spec.ts tests all their behavior on PostgreSQL. */
describe('the commands on an embedded database', () => {
  let database: TestDatabase;
  let environment: Environment;

  beforeAll(async () => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'commands-')), 'directory.ldif');
    writeFileSync(file, buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna'] }]));
    database = await createDatabase();
    environment = {
      PORT: String(await findFreePort()),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${file}`,
    };
  });

  afterAll(() => database.drop());

  it('synchronize the directory, and report no problem', async () => {
    const planned = await runCommand(['sync', '--dry-run'], environment);
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringMatching(/^people \+2 ~0 -0/)]);
    expect((await runCommand(['sync'], environment)).stdout).toMatch(/^Revision 1: people \+2/);
    const checked = await runCommand(['check'], environment);
    expect([checked.code, checked.stdout]).toEqual([0, expect.not.stringContaining('PROBLEM')]);
    expect(checked.stdout).toMatch(/\nok {7}mirror: IDLE, as of 20/);
  });

  it('create no database for a check', async () => {
    const directory = join(variable('TEST_WORK_DIRECTORY'), 'not-created');
    const checked = await runCommand(['check'], { ...environment, DATABASE_URL: `pglite:${directory}` });
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringContaining(`ok       database: none yet: the first start creates it in ${directory}\n`),
    ]);
    expect(existsSync(directory)).toBe(false);
  });

  it('fail while a service uses the database, except those that it executes', async () => {
    const service = TestProcess.start('cli', ['serve'], environment);
    await service.untilPrinted(/Ready at/);
    const beside = await runCommand(['sync'], environment);
    const checked = await runCommand(['check'], environment);
    rmSync(join(database.url.slice('pglite:'.length), '.service.commands'), { recursive: true });
    const withoutSocket = await runCommand(['check'], environment);
    expect((await service.kill('SIGTERM')).code).toBe(0);
    expect([beside.code, beside.stdout]).toEqual([1, '']);
    expect(beside.stderr).toMatch(/^The database directory \S+ is in use by process \d+: [^\n]+\n$/);
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringMatching(/\nok {7}database\nok {7}mirror: IDLE, as of 20.*\nok {7}service accounts: 0\n/),
    ]);
    expect([withoutSocket.code, withoutSocket.stdout]).toEqual([
      0,
      expect.stringMatching(/\nWARNING {2}database: The database directory \S+ is in use by process \d+/),
    ]);
  });

  it('show and enable the receivers of changes of a service that runs', async () => {
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'webhooks-')), 'webhooks.yaml');
    const target = { id: 'reports', url: `http://127.0.0.1:${await findFreePort()}`, allowPrivate: true };
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    writeFileSync(file, JSON.stringify({ targets: [{ ...target, secret, scopes: ['directory'] }] }));
    const withReceiver = { ...environment, DIRECTORY_WEBHOOKS: file };
    const service = TestProcess.start('cli', ['serve'], withReceiver);
    await service.untilPrinted(/Ready at/);
    const checked = await runCommand(['check'], withReceiver);
    const enabled = await runCommand(['webhook', 'enable', 'reports', '--from-now', '--json'], withReceiver);
    const unknown = await runCommand(['webhook', 'enable', 'absent', '--json'], withReceiver);
    expect((await service.kill('SIGTERM')).code).toBe(0);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/\nok {7}webhook reports/)]);
    expect([enabled.code, JSON.parse(enabled.stdout)]).toMatchObject([0, { id: 'reports', enabled: true }]);
    expect([unknown.code, JSON.parse(unknown.stdout)]).toMatchObject([1, { error: { code: 'NOT_FOUND' } }]);
    expect(service.stdout).toContain('Webhook «reports»: enabled, by a command on this machine');
  });
});

describe('service accounts while a service holds the embedded database', () => {
  let database: TestDatabase;
  let environment: Environment;
  let service: TestProcess;
  let directory: string;
  let socket: string;

  const startService = async () => {
    service = TestProcess.start('cli', ['serve'], environment);
    await service.untilPrinted(/Ready at/);
  };

  beforeAll(async () => {
    database = await createDatabase();
    directory = join(database.url.slice('pglite:'.length), '.service.commands');
    socket = join(directory, 'socket');
    environment = { PORT: String(await findFreePort()), DATABASE_URL: database.url, LOG_FORMAT: 'json' };
    await startService();
  });

  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
    await database.drop();
  });

  const run = (...args: string[]) => runCommand(['service-account', ...args], environment);
  const statusOf = async (token: string) => {
    const url = `http://127.0.0.1:${environment['PORT'] ?? ''}/graphql/v1?query=${encodeURIComponent('{ currentToken { kind } }')}`;
    return (await fetch(url, { headers: { authorization: `Basic ${token}` } })).status;
  };

  it('are created, changed, rotated, listed and revoked by it', async () => {
    const about = ['--id', 'kiosk', '--name', 'Kiosk', '--scopes', 'read', '--expires', '1d', '--json'];
    const created = JSON.parse((await run('create', ...about)).stdout) as {
      token: string;
      expiresAt: string;
    };
    expect(await statusOf(created.token)).toBe(200);
    const again = await run('create', ...about);
    expect([again.code, JSON.parse(again.stdout)]).toMatchObject([1, { error: { code: 'CONFLICT' } }]);
    expect((await run('update', 'kiosk', '--expires', 'never', '--contact', 'it')).code).toBe(0);
    const rotated = JSON.parse((await run('rotate', 'kiosk', '--json')).stdout) as { token: string };
    expect(await statusOf(rotated.token)).toBe(200);
    const listed = JSON.parse((await run('list', '--json')).stdout) as object[];
    expect(listed).toContainEqual(
      expect.objectContaining({ id: 'kiosk', tokens: 2, contact: 'it', expiresAt: null }),
    );
    expect((await run('list')).stdout).toMatch(/ kiosk +(never|within a day) +never +2 +read\n/);
    expect((await run('revoke', 'kiosk')).code).toBe(0);
    expect(await statusOf(rotated.token)).toBe(401);
    const operations = [
      ...service.stdout.matchAll(/Service account «kiosk»: (\w+), by a command on this machine/g),
    ];
    expect(operations.map(([, operation]) => operation)).toEqual([
      'created',
      'updated',
      'rotated',
      'revoked',
    ]);
  });

  it('are reached only by the user of the database directory, on a socket', () => {
    expect([statSync(directory).mode & 0o777, statSync(socket).isSocket()]).toEqual([0o700, true]);
  });

  it('rejects other operations, incomplete and long requests, and outlives a command that ends early', async () => {
    const send = async (body: string) => {
      const answer = JSON.parse(await text(connect(socket).end(body))) as { error: { code: string } };
      return answer.error.code;
    };
    expect(await send('{"operation": "constructor", "args": []}')).toBe('BAD_USER_INPUT');
    expect(await send('{"operation": "revoke", "args": []}')).toBe('BAD_USER_INPUT');
    for (const body of ['', 'null', '1', '{"operation": "describeAll"', 'GET / HTTP/1.1'])
      expect([body, await send(body)]).toEqual([body, 'BAD_USER_INPUT']);
    expect(await send(' '.repeat(100_000))).toBe('PAYLOAD_TOO_LARGE');
    for (const body of ['', '{"operation": "describeAll", "args": []}', ' '.repeat(100_000)]) {
      const early = connect(socket);
      await once(early, 'connect');
      early.write(body, () => early.destroy());
      await once(early, 'close');
    }
    expect(await send('')).toBe('BAD_USER_INPUT');
  });

  it('does not write the demonstration token into a log for programs', () => {
    expect(service.stdout).toContain('only a log with LOG_FORMAT=text shows its token');
    expect(service.stdout).not.toMatch(/Authorization: Basic/);
    const lines = service.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines[0]?.msg).toMatch(/^Version \d/);
  });

  it('may have changed when a stopped service does not answer', async () => {
    service.freeze();
    const created = await run('create', '--id', 'lobby', '--name', 'Lobby', '--scopes', 'read', '--json');
    service.resume();
    expect([created.code, JSON.parse(created.stdout)]).toMatchObject([1, { error: { code: 'TIMEOUT' } }]);
    expect(created.stdout).toContain('the command may have taken effect, see «service-account list»');
    const listed = await run('list', '--json');
    expect(JSON.parse(listed.stdout)).toContainEqual(expect.objectContaining({ id: 'lobby' }));
    expect((await run('revoke', 'lobby')).code).toBe(0);
  });

  it('are in the database again when the service has ended, also without its socket', async () => {
    expect((await service.kill('SIGTERM')).code).toBe(0);
    expect(existsSync(directory)).toBe(false);
    const listed = await run('list', '--json');
    expect([listed.code, JSON.parse(listed.stdout)]).toEqual([0, [expect.objectContaining({ id: 'demo' })]]);
    const about = ['--id', 'kiosk', '--name', 'Kiosk', '--scopes', 'read', '--json'];
    const refused = JSON.parse((await run('create', ...about)).stdout) as { error: { message: string } };
    expect(refused.error.message).toContain('--reuse');
    expect((await run('create', ...about, '--reuse')).code).toBe(0);
  });

  it('are in the database again after a crash, and never sent to a port of this machine', async () => {
    await startService();
    await service.kill('SIGKILL');
    expect(existsSync(socket)).toBe(true);
    rmSync(directory, { recursive: true });
    let connections = 0;
    const stranger = createServer((connection) => {
      connections += 1;
      connection.destroy();
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const { port } = stranger.address() as AddressInfo;
    writeFileSync(directory, JSON.stringify({ port, token: 'stale' }), { mode: 0o600 });
    const listed = await run('list', '--json');
    stranger.close();
    expect([connections, listed.code, JSON.parse(listed.stdout)]).toEqual([
      0,
      0,
      expect.arrayContaining([expect.objectContaining({ id: 'kiosk' })]),
    ]);
  });

  it('are served again by the start after a crash, which replaces the socket', async () => {
    await startService();
    await service.kill('SIGKILL');
    expect(existsSync(socket)).toBe(true);
    await startService();
    expect((await run('list')).code).toBe(0);
    expect((await run('rotate', 'kiosk')).code).toBe(0);
    expect(service.stdout).toContain('Service account «kiosk»: rotated, by a command on this machine');
    expect((await service.kill('SIGTERM')).code).toBe(0);
  });
});

describe('a command that manages service accounts', () => {
  const answers: [string, string][] = [
    ['', 'SERVICE_UNAVAILABLE'],
    ['HTTP/1.1 200 OK', 'INTERNAL_SERVER_ERROR'],
    ['null', 'INTERNAL_SERVER_ERROR'],
    ['{}', 'INTERNAL_SERVER_ERROR'],
    ['{"result": null}', 'INTERNAL_SERVER_ERROR'],
    ['{"result": {"account": {}, "token": "x"}}', 'INTERNAL_SERVER_ERROR'],
    ['{"error": {"code": "UNKNOWN", "message": "x"}}', 'INTERNAL_SERVER_ERROR'],
    ['{"error": {"code": "CONFLICT", "message": "x"}}', 'CONFLICT'],
  ];

  it.each([
    ['short', 'a'],
    ['long', 'a'.repeat(120)],
  ])('reports an answer of another form, in a directory with a %s path', async (_, name) => {
    const parent = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'answers-'));
    const database = join(parent, name);
    mkdirSync(database, { recursive: true });
    let answer = '';
    const server = createServer({ allowHalfOpen: true }, (connection) => {
      connection.resume().once('end', () => connection.end(answer));
    });
    await listenForCommands(database, server);
    const account = { id: 'kiosk', name: 'Kiosk', description: null, scopes: [], expiresAt: null };
    for (const [given, code] of answers) {
      answer = given;
      const created = new RemoteAccounts(database).create(account);
      await expect(created).rejects.toMatchObject({ name: 'ServiceError', code });
    }
    answer = '{"result": {}}';
    const command = ['service-account', 'create', '--id', 'kiosk', '--name', 'Kiosk', '--scopes', 'read'];
    const ended = await runCommand(command, { DATABASE_URL: `pglite:${database}` });
    server.close();
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([
      1,
      '',
      'The service that holds the database has given an answer of another form: the command may have taken effect, see «service-account list»\n',
    ]);
    await expect(new RemoteAccounts(database).describeAll()).rejects.toThrow(NoServiceError);
  });
});
