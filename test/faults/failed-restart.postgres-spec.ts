import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLdif } from '../support/builders/directory.js';
import { TestProcess } from '../support/clients/command.js';
import { send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

const DOCUMENTS = JSON.stringify({ one: '{ __typename }' });
const MODEL =
  'users: {fields: {phone: {attribute: telephoneNumber, type: String, description: A number.}}}\n';
const WORKERS = 2;
const isWorker = (id: number) => readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('worker.js');

describe('a restart of which the second process fails', () => {
  let issuer: ExternalIssuerProcess;
  let database: TestDatabase;
  let service: TestProcess;
  let config: { host: string; port: number };
  let model: string;
  let documents: string;

  beforeAll(async () => {
    issuer = await ExternalIssuerProcess.start();
    database = await createDatabase();
    const directory = mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'restart-'));
    const ldif = join(directory, 'directory.ldif');
    model = join(directory, 'model.yaml');
    documents = join(directory, 'documents.json');
    writeFileSync(ldif, buildLdif([{ id: 'anna' }]));
    writeFileSync(model, 'users: {}\n');
    writeFileSync(documents, DOCUMENTS);
    config = { host: '127.0.0.1', port: await findFreePort() };
    service = TestProcess.start('main', [], {
      ...issuer.environment,
      WORKERS: String(WORKERS),
      PORT: String(config.port),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${ldif}`,
      DIRECTORY_MODEL: model,
      TRUSTED_DOCUMENTS: documents,
      TRUSTED_DOCUMENTS_MODE: 'log',
    });
    await service.untilPrinted(/Ready at/);
  });

  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
    await issuer.stop();
    await database.drop();
  });

  /** Whether the schema of any process has the field of the new model. Each connection is of another process. */
  async function anyHasPhone(): Promise<boolean> {
    const request = { path: '/graphql/v1/schema.graphql' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => send({ config }, request)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    return answers.some(({ body }) => body.includes('A number.'));
  }

  it('leaves all of them with the former model', async () => {
    const [first = 0] = service.children.filter(isWorker);
    writeFileSync(model, MODEL);
    process.kill(service.id, 'SIGHUP');
    // The next process reads its settings after the first one was replaced.
    while (service.children.includes(first)) await sleep(5);
    writeFileSync(documents, '{');
    await service.untilPrinted(/A new process does not start: the present ones continue/);
    writeFileSync(documents, DOCUMENTS);
    await eventually(anyHasPhone, false);
    await eventually(() => Promise.resolve(service.children.length), WORKERS + 1);
    process.kill(service.id, 'SIGHUP');
    await service.untilPrinted(/All processes were replaced/);
    expect(await anyHasPhone()).toBe(true);
  });
});
