import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DataSource } from 'typeorm';
import { checkDatabase } from '../../src/commands/check.js';
import type { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { enableWebhook } from '../../src/webhooks/webhook-state.js';
import { POSITION_LOST } from '../../src/webhooks/webhook.entity.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { ACCEPT, WebhookReceiver } from '../support/clients/webhook-receiver.js';
import { eventually } from '../support/eventually.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const PEOPLE: TestPerson[] = ['anna', 'ben'].map((id) => ({ id, name: id }));
const CLUB: TestGroup = { id: 'club', members: ['anna'] };
const BAND: TestGroup = { id: 'band', members: ['ben'] };

const MODEL = `
scopes: {confidential: Hidden people.}
visibility: {bypass: confidential, users: [{where: (sn=hidden), to: groupAdmins}]}
`;

interface State {
  readonly id: string;
  readonly cursor: string;
  readonly failure: string | null;
}

describe('webhooks', () => {
  let receiver: WebhookReceiver;
  const service = TestService.forSuite(async () => {
    receiver = await WebhookReceiver.start();
    const target = (id: string, more = '') =>
      `  - { id: ${id}, url: '${receiver.url}/${id}', secret: ${WebhookReceiver.SECRET}, allowPrivate: true${more} }`;
    const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'webhooks-')), 'webhooks.yaml');
    const lines = [
      'targets:',
      target('all'),
      target('kinds', ', kinds: [USER_CREATED, USER_DELETED]'),
      target('group', ', groups: [CLUB]'),
      target('hidden', ', scopes: [directory, confidential]'),
      target('failing', ', kinds: [GROUP_CREATED]'),
      target('redirected', ', kinds: [GROUP_CREATED]'),
      target('upgrading', ', kinds: [GROUP_CREATED]'),
      target('silent', ', kinds: [GROUP_CREATED]'),
      target('huge', ', kinds: [GROUP_CREATED]'),
      target('never', ', kinds: [GROUP_CREATED]'),
      target('operated', ', kinds: [USER_UPDATED]'),
      `  - { id: private, url: 'https://localhost:${receiver.port}', secret: ${WebhookReceiver.SECRET} }`,
    ];
    writeFileSync(file, lines.join('\n'));
    const model = join(dirname(file), 'model.yaml');
    writeFileSync(model, MODEL);
    return {
      ldif: buildLdif(PEOPLE, [CLUB, BAND]),
      environment: {
        DIRECTORY_WEBHOOKS: file,
        DIRECTORY_MODEL: model,
        DIRECTORY_SYNC_SECONDS: '1',
        DIRECTORY_GUARD_PERCENT: '100',
      },
    };
  });
  const tokens = new Map<string, string>();
  const starts = new Map<string, string>();

  beforeAll(async () => {
    tokens.set('all', await service.serviceAccount('read', 'directory'));
    tokens.set('hidden', await service.serviceAccount('read', 'directory', 'confidential'));
    await eventually(async () => (await readStates()).length, 12);
    for (const [id, authorization] of tokens) {
      const { changes } = await service.read<{ changes: { completeAfter: string } }>(
        '{ changes(last: 1) { completeAfter } }',
        { authorization },
      );
      starts.set(id, changes.completeAfter);
    }
    receiver.answer = ({ path }, response) => {
      if (path === '/failing') response.writeHead(500).end();
      else if (path === '/redirected') response.writeHead(302, { location: `${receiver.url}/all` }).end();
      else if (path === '/upgrading')
        response.socket?.end('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
      else if (path === '/silent') response.socket?.destroy();
      else if (path === '/huge') write(() => response.write(Buffer.alloc(65_536)));
      else if (path !== '/never') void ACCEPT({ id: '', path, body: null as never }, response);
    };
    const write = (next: () => boolean) => {
      const timer = setInterval(next, 1);
      setTimeout(() => clearInterval(timer), 1000);
    };
  });

  afterAll(() => receiver.stop());

  function readStates(): Promise<State[]> {
    return service.app.get(DataSource).query('select * from webhooks order by id');
  }

  async function stateOf(id: string): Promise<State | undefined> {
    return (await readStates()).find((each) => each.id === id);
  }

  async function change(people: TestPerson[], groups: TestGroup[]): Promise<void> {
    service.replaceDirectory(buildLdif(people, groups));
    await service.synchronize();
  }

  async function list(who: string, filter = ''): Promise<{ id: string }[]> {
    const { changes } = await service.read<{ changes: { nodes: { id: string }[] } }>(
      `{ changes(first: 100, after: "${starts.get(who) ?? ''}", filter: {${filter}}) { nodes {
        id kind at userId userNodeId groupId groupNodeId previousId roleBefore roleAfter } } }`,
      { authorization: tokens.get(who) ?? '' },
    );
    return changes.nodes;
  }

  async function expectDelivered(id: string, listed: readonly { id: string }[]): Promise<void> {
    const path = `/${id}`;
    await eventually(
      () => Promise.resolve(receiver.idsAt(path)),
      listed.map((each) => each.id),
    );
    const messages = receiver.messages.filter((each) => each.path === path);
    expect(messages.map(({ body }) => body.data)).toEqual(listed);
  }

  /** The changes that receivers have to get. Those of what becomes hidden are no longer listed. */
  const due = new Map<string, { id: string }[]>();

  async function expectNews(): Promise<void> {
    for (const [id, who, filter] of [
      ['all', 'all', ''],
      ['hidden', 'hidden', ''],
      ['kinds', 'all', 'kinds: [USER_CREATED, USER_DELETED]'],
      ['group', 'all', 'group: {id: "club"}'],
    ] as const) {
      const known = due.get(id) ?? [];
      const listed = await list(who, filter);
      due.set(id, [...known, ...listed.filter((each) => !known.some((other) => other.id === each.id))]);
      await expectDelivered(id, due.get(id) ?? []);
    }
  }

  it('receive signed changes from now on, in order, as they select and as their scopes may see them', async () => {
    await change([...PEOPLE, { id: 'cleo' }, { id: 'dora', familyName: 'hidden' }], [CLUB, BAND]);
    await expectNews();
    await change([...PEOPLE, { id: 'cleo', familyName: 'hidden' }], [{ ...CLUB, members: ['ben'] }, BAND]);
    await expectNews();
    await change(PEOPLE, [CLUB, BAND, { id: 'choir', members: ['ben'] }]);
    await expectNews();
    expect(due.get('all')).not.toEqual(due.get('hidden'));
    const [first] = receiver.messages;
    expect(first?.body).toMatchObject({ type: first?.body.data.kind, timestamp: first?.body.data.at });
  });

  it('receive a change again with the same id until they accept it, without holding up others', async () => {
    const [created] = await list('all', 'kinds: [GROUP_CREATED]');
    await eventually(
      () => Promise.resolve(receiver.messages.filter(({ path }) => path === '/failing').length >= 2),
      true,
    );
    expect(receiver.idsAt('/failing')).toEqual([created?.id]);
    expect((await stateOf('failing'))?.failure).toBe('it answers 500');
    const answer = receiver.answer;
    receiver.answer = (message, response) =>
      message.path === '/failing' ? ACCEPT(message, response) : answer(message, response);
    await eventually(async () => (await stateOf('failing'))?.failure ?? null, null);
    receiver.answer = answer;
  });

  it('are not redirected, change no protocol, and their answers are not read', async () => {
    await eventually(async () => (await stateOf('redirected'))?.failure, 'it answers 302');
    await eventually(async () => (await stateOf('upgrading'))?.failure, 'it answers 101');
    await eventually(async () => (await stateOf('silent'))?.failure, 'it cannot be reached (ECONNRESET)');
    const [created] = await list('all', 'kinds: [GROUP_CREATED]');
    await eventually(() => Promise.resolve(receiver.idsAt('/huge')), [created?.id]);
    expect((await stateOf('huge'))?.failure).toBeNull();
  });

  it('are not connected at a private address', async () => {
    await eventually(async () => (await stateOf('private'))?.failure, 'its address is private');
  });

  it('fail if they do not answer', async () => {
    await eventually(async () => (await stateOf('never'))?.failure, 'it does not answer within 15 seconds');
  });

  it('are tried at once when an operator enables them', async () => {
    const database = service.app.get(DataSource);
    const before = receiver.idsAt('/operated').length;
    const answer = receiver.answer;
    const reject: typeof answer = (message, response) => {
      if (message.path === '/operated') response.writeHead(503).end();
      else void answer(message, response);
    };
    receiver.answer = reject;
    await change([{ id: 'anna', name: 'First' }, { id: 'ben' }], [CLUB, BAND]);
    await eventually(async () => (await stateOf('operated'))?.failure, 'it answers 503');
    // The next attempt is due in ten minutes.
    await database.query(`update webhooks set attempts = 20, failure = null where id = 'operated'`);
    await eventually(async () => (await stateOf('operated'))?.failure, 'it answers 503');
    receiver.answer = answer;
    const { cursor } = (await stateOf('operated')) ?? {};
    await enable('operated');
    await eventually(async () => (await stateOf('operated'))?.cursor === cursor, false);
    expect(receiver.idsAt('/operated')).toHaveLength(before + 1);
  });

  it('fail if the database does not know their position, until an operator lets them begin at now', async () => {
    const people = [{ id: 'anna', name: 'First' }, { id: 'ben' }, { id: 'emil' }];
    const { cursor = '' } = (await stateOf('kinds')) ?? {};
    const [binding, number] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
    const lost = Buffer.from(JSON.stringify([binding, number, randomUUID()])).toString('base64url');
    await service.app.get(DataSource).query(`update webhooks set cursor = $1 where id = 'kinds'`, [lost]);
    await change(people, [CLUB, BAND]);
    await eventually(async () => (await stateOf('kinds'))?.failure, POSITION_LOST);
    const findings = await checkDatabase(service.config);
    expect(findings.find(({ what }) => what === 'webhook kinds')).toMatchObject({ result: 'problem' });
    await enable('kinds', true);
    await change([...people, { id: 'frida' }], [CLUB, BAND]);
    const last = () => receiver.messages.findLast(({ path }) => path === '/kinds')?.body.data.userId;
    await eventually(() => Promise.resolve(last()), 'frida');
  });

  function enable(id: string, fromNow = false): Promise<void> {
    return enableWebhook(service.config, service.app.get<DirectoryDataSource>(DataSource), id, fromNow);
  }
});
