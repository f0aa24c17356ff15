import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { TestProcess } from '../support/clients/command.js';
import { post, send } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { createDatabase, type TestDatabase, variable } from '../support/servers/store.js';

/** A model whose only custom field of users shows the telephone number. */
function modelWith(field: string): string {
  return `users:\n  fields:\n    ${field}: {attribute: telephoneNumber, type: String, description: A number.}\n`;
}

const INVALID = 'users: {base: people}\n';
const documentOf = (field: string) => `{ user(user: {id: "anna"}) { ${field} } }`;
/** The trusted documents: one of a custom field. */
const documentsWith = (field: string) => JSON.stringify({ custom: documentOf(field) });

/** Processes for requests. */
const WORKERS = 2;

describe('a model file that is edited while processes for requests run', () => {
  const { DIRECTORY_MODEL: model } = modelSetting(modelWith('line'));
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  let database: TestDatabase;
  let file: string;
  let documents: string;
  let settings: string;
  let config: { host: string; port: number };
  let service: TestProcess;
  let authorization: string;

  beforeAll(async () => {
    database = await createDatabase();
    file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'edited-')), 'directory.ldif');
    documents = join(file, '../documents.json');
    writeFileSync(documents, documentsWith('line'));
    settings = join(file, '../settings');
    writeFileSync(settings, `WORKERS=${WORKERS}\n`);
    setPhone('0');
    config = { host: '127.0.0.1', port: await findFreePort() };
    service = TestProcess.start('main', [], {
      ...issuer.environment,
      ENV_FILE: settings,
      WORKERS: undefined,
      PORT: String(config.port),
      DATABASE_URL: database.url,
      DIRECTORY_URL: `file:${file}`,
      DIRECTORY_MODEL: model,
      DIRECTORY_SYNC_SECONDS: '1',
      TRUSTED_DOCUMENTS: documents,
    });
    authorization = await issuer.token('jwt-client');
    await service.untilPrinted(/Ready at/);
  });

  afterAll(async () => {
    if (!service.hasEnded) await service.kill('SIGKILL');
    await database.drop();
  });

  function setPhone(phone: string): void {
    writeFileSync(file, buildLdif([{ id: 'anna', phone }]));
  }

  const read = (field: string) => request({ query: documentOf(field) });

  /** The user of a response; null if there is no such field or document, or no process. */
  async function request(body: object): Promise<unknown> {
    const answer = await post({ config }, body, { authorization }).catch(() => null);
    const { data = null } = JSON.parse(answer?.body ?? '{}') as { data?: { user: unknown } };
    return data?.user ?? null;
  }

  /** Ends all processes that follow the directory or serve requests beside others. */
  async function replaceAll(): Promise<void> {
    const before = service.children;
    for (const id of before) process.kill(id, 'SIGKILL');
    const isReplaced = () => service.children.filter((id) => !before.includes(id)).length === before.length;
    await eventually(() => Promise.resolve(isReplaced()), true);
  }

  it('is read on SIGHUP, by all processes', async () => {
    const before = service.children;
    writeFileSync(model, INVALID);
    process.kill(service.id, 'SIGHUP');
    await service.untilPrinted(/A new process does not start: the present ones continue/);
    expect(service.stderr).toMatch(/users\.base: invalid DN/);
    expect([service.children, await read('line')]).toEqual([before, { line: '0' }]);
    setPhone('2');
    await eventually(() => read('line'), { line: '2' });
    writeFileSync(model, modelWith('desk'));
    writeFileSync(documents, documentsWith('desk'));
    writeFileSync(settings, 'WORKERS=3\nGRAPHQL_INTROSPECTION=false\n');
    process.kill(service.id, 'SIGHUP');
    await service.untilPrinted(/All processes were replaced/);
    expect(service.children).toHaveLength(WORKERS);
    expect((await send({ config }, { path: '/graphql/v1/schema.graphql' })).status).toBe(404);
    await eventually(() => read('desk'), { desk: '2' });
    await replaceAll();
    setPhone('3');
    await eventually(() => read('desk'), { desk: '3' });
  });
});
