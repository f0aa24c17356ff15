import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { buildLdif } from '../support/builders/directory.js';
import { post } from '../support/clients/http.js';
import { ACCEPT, WebhookReceiver } from '../support/clients/webhook-receiver.js';
import { eventually } from '../support/eventually.js';
import { ServiceProcesses } from '../support/servers/service-processes.js';
import { variable } from '../support/servers/store.js';

const ROUNDS = 6;

describe('webhooks of two services on one database', () => {
  let receiver: WebhookReceiver;
  let services: ServiceProcesses;

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'webhooks-')), 'webhooks.yaml');
    writeFileSync(
      file,
      `targets: [{ id: one, url: '${receiver.url}/hidden-path', secret: ${WebhookReceiver.SECRET}, allowPrivate: true }]`,
    );
    services = await ServiceProcesses.start(2, buildLdif([{ id: 'anna' }]), { DIRECTORY_WEBHOOKS: file });
    const database = new pg.Client(services.database.url);
    await database.connect();
    await eventually(async () => (await database.query('select from webhooks')).rowCount, 1);
    await database.end();
  });

  afterAll(async () => {
    await services.stop();
    receiver.stop();
  });

  it('lose no change and keep the order while senders are killed before they store what was delivered', async () => {
    let kills = 0;
    let restarting: Promise<unknown> | null = null;
    const isRestarting = () => Promise.resolve(restarting !== null);
    receiver.answer = (message, response) => {
      // Every third change is delivered, and its sender killed before it gets the answer.
      const isFirst = receiver.messages.filter(({ id }) => id === message.id).length === 1;
      if (isFirst && restarting === null && receiver.idsAt('/hidden-path').length % 3 === 0) {
        kills++;
        restarting = Promise.all(services.each.map((each) => each.crash())).then(() => {
          restarting = null;
        });
      }
      return ACCEPT(message, response);
    };
    for (let round = 1; round <= ROUNDS; round++) {
      const people = [{ id: 'anna', name: `anna ${round}` }, ...(round % 2 === 0 ? [] : [{ id: 'ben' }])];
      services.replaceDirectory(buildLdif(people));
      await sleep(1500);
    }
    receiver.answer = ACCEPT;
    await eventually(isRestarting, false);
    services.replaceDirectory(buildLdif([{ id: 'final' }, { id: 'anna' }]));
    await eventually(
      async () => (await list().catch(() => [])).some(({ userId }) => userId === 'final'),
      true,
    );
    const listed = (await list()).map(({ id }) => id);
    await eventually(() => Promise.resolve(receiver.idsAt('/hidden-path')), listed);
    expect(kills).toBeGreaterThan(0);
    // What was sent twice was sent twice in a row.
    const ids = receiver.messages.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(listed.length);
    expect(ids.filter((id, index) => id !== ids[index - 1])).toEqual(listed);
  });

  it('write neither secrets nor addresses to the log', () => {
    for (const { process } of services.each) {
      const log = process.stdout + process.stderr;
      expect(log).not.toContain('whsec_');
      expect(log).not.toContain(WebhookReceiver.SECRET.slice('whsec_'.length));
      expect(log).not.toContain('hidden-path');
    }
  });

  async function list(): Promise<{ id: string; kind: string; userId: string | null }[]> {
    const [service] = services.each;
    const query = '{ changes(first: 100) { nodes { id kind userId } } }';
    if (service === undefined) throw new Error('There is no service');
    const { body } = await post(service, { query }, { authorization: service.authorization });
    const { data } = JSON.parse(body) as {
      data: { changes: { nodes: { id: string; kind: string; userId: string | null }[] } };
    };
    return data.changes.nodes;
  }
});
