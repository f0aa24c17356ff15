import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const MODEL =
  'users: {fields: {phone: {attribute: telephoneNumber, type: String, description: A number.}}}\n';
const WORKERS = 2;

describe('a restart of which the second process fails', () => {
  let issuer: ExternalIssuerProcess;
  let database: TestDatabase;
  let service: TestProcess;
  let config: { host: string; port: number };
  let model: string;

  beforeAll(async () => {
    issuer = await ExternalIssuerProcess.start();
    database = await createDatabase();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'restart-'));
    const ldif = join(directory, 'directory.ldif');
    model = join(directory, 'model.yaml');
    writeFileSync(ldif, buildLdif([{ id: 'anna' }]));
    writeFileSync(model, 'users: {}\n');
    config = { host: '127.0.0.1', port: await findFreePort() };
    service = TestProcess.start('main', [], {
      ...issuer.environment,
      WORKERS: String(WORKERS),
      PORT: String(config.port),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${ldif}`,
      DIRECTORY_MODEL: model,
    });
    await service.untilPrinted(/Ready at/);
  });

  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
    await issuer.stop();
    await database.drop();
  });

  const workers = () => service.children;

  /** Whether the schema of any process has the field of the new model. Each connection is of another process. */
  async function anyHasPhone(): Promise<boolean> {
    const request = { path: '/graphql/v1/schema.graphql' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => send({ config }, request)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    return answers.some(({ body }) => body.includes('A number.'));
  }

  it('leaves all of them with the former model', async () => {
    const before = workers();
    const added = () => workers().filter((id) => !before.includes(id));
    writeFileSync(model, MODEL);
    process.kill(service.id, 'SIGHUP');
    await eventually(() => Promise.resolve(added().length), 1);
    const [first = 0] = added();
    // The second one is killed while it loads its modules.
    while (added().length < 2) await sleep(5);
    for (const id of added()) if (id !== first) process.kill(id, 'SIGKILL');
    await service.untilPrinted(/A new process does not start: the present ones continue/);
    await eventually(anyHasPhone, false);
    await eventually(() => Promise.resolve(service.children.length), WORKERS);
    process.kill(service.id, 'SIGHUP');
    await service.untilPrinted(/All processes were replaced/);
    expect(await anyHasPhone()).toBe(true);
  });
});
