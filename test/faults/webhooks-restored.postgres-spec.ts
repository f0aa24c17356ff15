import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { dump, load, restore } from '../support/builders/dump.js';
import { runCommand } from '../support/clients/command.js';
import { WebhookReceiver } from '../support/clients/webhook-receiver.js';
import { eventually } from '../support/eventually.js';
import { ServiceProcess } from '../support/servers/service-processes.js';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

/** The tables of the first command of docs/operations.md#backups. */
const TABLES = ['service_accounts', 'service_account_secrets', 'access_log', 'webhooks'];

describe('webhooks of a restored database', () => {
  let receiver: WebhookReceiver;
  let database: TestDatabase;
  let service: ServiceProcess;
  let environment: Record<string, string>;
  const databases: TestDatabase[] = [];

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'webhooks-'));
    const file = join(directory, 'webhooks.yaml');
    const target = (id: string, more = '') =>
      `  - { id: ${id}, url: '${receiver.url}/${id}', secret: ${WebhookReceiver.SECRET}, allowPrivate: true${more} }`;
    writeFileSync(file, ['targets:', target('all'), target('deleted', ', kinds: [USER_DELETED]')].join('\n'));
    environment = {
      DIRECTORY_URL: `file:${join(directory, 'directory.ldif')}`,
      DIRECTORY_SYNC_SECONDS: '1',
      DIRECTORY_GUARD_PERCENT: '100',
      DIRECTORY_WEBHOOKS: file,
      ALLOW_EMBEDDED: 'true',
    };
    write('anna', 'ben', 'cleo', 'dan');
    database = await createDatabase();
    databases.push(database);
    service = await ServiceProcess.start({ ...environment, DATABASE_URL: database.url });
    await eventually(() => statesOf(database), [null, null]);
  });

  afterAll(async () => {
    await service.process.kill('SIGKILL');
    await Promise.all(databases.map((each) => each.drop()));
    receiver.stop();
  });

  function write(...ids: string[]): void {
    const { pathname } = new URL(environment['DIRECTORY_URL'] ?? '');
    writeFileSync(`${pathname}.new`, buildLdif(ids.map((id) => ({ id }))));
    renameSync(`${pathname}.new`, pathname);
  }

  /** Why each receiver that has begun fails or is disabled. */
  async function statesOf({ url }: TestDatabase): Promise<(string | null)[]> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query<{ failure: string | null }>(
      'select failure from webhooks order by id',
    );
    await client.end();
    return rows.map(({ failure }) => failure);
  }

  const deliveredTo = (id: string) =>
    receiver.idsAt(`/${id}`).map((message) => {
      const { body } = receiver.messages.find((each) => each.id === message) ?? {};
      return `${body?.type} ${body?.data.userId}`;
    });

  it('continue from the position of the backup, with ids that no lost change had', async () => {
    write('anna', 'ben', 'cleo', 'dan', 'emma');
    await eventually(() => Promise.resolve(deliveredTo('all')), ['USER_CREATED emma']);
    const backup = await dump(database.url);
    write('anna', 'ben', 'cleo', 'dan', 'emma', 'finn');
    await eventually(() => Promise.resolve(deliveredTo('all').at(-1)), 'USER_CREATED finn');
    // Another change than the one that the restore loses, at the same place of the log.
    write('anna', 'ben', 'cleo', 'dan', 'emma', 'gwen');
    await eventually(() => Promise.resolve(deliveredTo('all').at(-1)), 'USER_CREATED gwen');
    await restore(database.url, backup);
    write('ben', 'cleo', 'dan', 'emma', 'gwen');
    await eventually(() => Promise.resolve(deliveredTo('deleted').at(-1)), 'USER_DELETED anna');
    // A receiver that leaves out ids that it knows has everything of the restored log.
    await eventually(
      () => Promise.resolve(deliveredTo('all').slice(-2).sort()),
      ['USER_CREATED gwen', 'USER_DELETED anna'],
    );
    expect(await statesOf(database)).toEqual([null, null]);
  });

  it('do not begin silently at another place if only the documented tables are restored', async () => {
    const backup = await dump(database.url, TABLES);
    await service.process.kill('SIGTERM');
    const restored = await createDatabase('template0');
    databases.push(restored);
    const settings = { ...environment, DATABASE_URL: restored.url };
    await runCommand(['service-account', 'list'], settings);
    await load(restored.url, backup);
    service = await ServiceProcess.start(settings);
    const lost = 'changes after its position are no longer kept';
    await eventually(() => statesOf(restored), [lost, lost]);
    const { stdout } = await runCommand(['check'], settings);
    expect(stdout).toContain('./directory webhook enable all --from-now');
    const { code } = await runCommand(['webhook', 'enable', 'all', '--from-now'], settings);
    expect(code).toBe(0);
    await eventually(() => statesOf(restored), [null, lost]);
    write('ben', 'cleo', 'dan', 'emma', 'gwen', 'hugo');
    await eventually(() => Promise.resolve(deliveredTo('all').at(-1)), 'USER_CREATED hugo');
  });
});
