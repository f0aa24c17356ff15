import { DataSource } from 'typeorm';
import { ChangeFeed } from '../../src/changes/change-feed.js';
import { pruneChanges } from '../../src/mirror/revision/write-changes.js';
import { ServiceAccountsService } from '../../src/service-accounts/service-accounts.service.js';
import type { Scope } from '../../src/auth/principal.js';
import { numberOfKind } from '../../src/common/change-kind.js';
import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { EventStream, type StreamOptions } from '../support/clients/event-stream.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { eventually } from '../support/eventually.js';
import { forSuite } from '../support/for-suite.js';
import { ExternalIssuerProcess } from '../support/servers/external-issuer.js';
import { TestNginx } from '../support/servers/balancers.js';
import { TestService } from '../support/servers/service.js';

const PEOPLE: TestPerson[] = ['anna', 'ben', 'cleo'].map((id) => ({ id, name: id }));
const CLUB: TestGroup = { id: 'club', members: ['anna', 'cleo'], owners: ['ben'] };
const BAND: TestGroup = { id: 'band', members: ['ben'] };
/** The values of a change, as GraphQL and streams have them. */
const FIELDS = 'id kind at userId userNodeId groupId groupNodeId previousId roleBefore roleAfter';

interface Listed {
  readonly cursor: string;
  readonly node: Record<string, unknown>;
}

describe('streams of changes', () => {
  const service = TestService.forSuite({
    ldif: buildLdif(PEOPLE, [CLUB, BAND]),
    logged: true,
    environment: {
      CORS_ORIGINS: 'https://pages.example.org',
      LIMIT_STREAMS: '12',
      LIMIT_REQUEST_SECONDS: '5',
      LIMIT_STREAMS_PER_PRINCIPAL: '8',
      LIMIT_FAILED_LOGINS: '2',
      DIRECTORY_GUARD_PERCENT: '100',
    },
  });
  let authorization: string;
  const streams: EventStream[] = [];

  beforeAll(async () => {
    authorization = await service.serviceAccount('read', 'directory');
    await stopFollowing(service);
  });

  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
  });

  async function open(query = '', options: StreamOptions = {}): Promise<EventStream> {
    const stream = await EventStream.open(service.url, query, { authorization, ...options });
    streams.push(stream);
    return stream;
  }

  async function list(args = 'first: 100'): Promise<Listed[]> {
    const { changes } = await service.read<{ changes: { edges: Listed[] } }>(
      `{ changes(${args}) { edges { cursor node { ${FIELDS} } } } }`,
      { authorization },
    );
    return changes.edges;
  }

  async function findStart(): Promise<string> {
    const { changes } = await service.read<{ changes: { completeAfter: string } }>(
      '{ changes(first: 0) { completeAfter } }',
      { authorization },
    );
    return changes.completeAfter;
  }

  async function change(people: TestPerson[], groups: TestGroup[] = [CLUB, BAND]): Promise<void> {
    service.replaceDirectory(buildLdif(people, groups));
    await service.synchronize();
  }

  it('sends every change with its cursor, its kind and the fields of GraphQL', async () => {
    const stream = await open(`?after=${await findStart()}`);
    const listed = await list();
    const events = await stream.receive(listed.length);
    expect(events.map(({ id, data }) => ({ cursor: id, node: data }))).toEqual(listed);
    expect(events.map(({ event }) => event)).toEqual(listed.map(({ node }) => node['kind']));
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      ratelimit: expect.stringMatching(/^"requests";r=/) as string,
    });
  });

  it('resumes after each cursor, by the header before the parameter, without a gap or a repetition', async () => {
    const all = (await list()).map(({ cursor }) => cursor);
    const [first = ''] = all;
    for (const [index, cursor] of all.entries()) {
      const options = index % 2 === 0 ? { lastEventId: cursor } : {};
      const stream = await open(`?after=${index % 2 === 0 ? first : cursor}`, options);
      const rest = all.slice(index + 1);
      expect((await stream.receive(rest.length)).map(({ id }) => id)).toEqual(rest);
      stream.close();
    }
  });

  it.each([
    ['without a token', '', { authorization: undefined }, 401, 'UNAUTHENTICATED'],
    ['that accepts JSON only', '', { accept: 'application/json' }, 406, 'NOT_ACCEPTABLE'],
    ['with a malformed cursor', '?after=nonsense', {}, 400, 'INVALID_CURSOR'],
    ['with a malformed header', '', { lastEventId: 'x y' }, 400, 'INVALID_CURSOR'],
    ['with an unknown kind', '?kinds=USER_CREATED,USER', {}, 400, 'BAD_USER_INPUT'],
    ['with an unknown parameter', '?kind=USER_CREATED', {}, 400, 'BAD_USER_INPUT'],
    ['with two groups', '?group=club&group=band', {}, 400, 'BAD_USER_INPUT'],
    ['of a group that does not exist', '?group=nothing', {}, 404, 'NOT_FOUND'],
    ['by POST', '', { method: 'POST' }, 405, 'METHOD_NOT_ALLOWED'],
    ['with a token without the scope of changes', '', { scopes: ['read'] }, 403, 'INSUFFICIENT_SCOPE'],
  ] as [string, string, StreamOptions & { scopes?: Scope[] }, number, string][])(
    'rejects a request %s',
    async (_, query, { scopes, ...options }, status, code) => {
      const stream = await open(
        query,
        scopes === undefined ? options : { authorization: await service.serviceAccount(...scopes) },
      );
      expect([stream.status, await stream.code()]).toEqual([status, code]);
      expect(stream.response.headers['content-type']).toBe('application/problem+json');
    },
  );

  it('is gone for a cursor of another database, and for one whose changes have expired', async () => {
    const [{ cursor } = { cursor: '' }] = await list();
    const [binding, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
    const other = JSON.stringify([binding, id, '00000000-0000-4000-8000-000000000000']);
    const lost = await open(`?after=${Buffer.from(other).toString('base64url')}`);
    expect([lost.status, await lost.code()]).toEqual([410, 'INVALID_CURSOR']);
    const hostile = JSON.stringify([binding, id, { toString: 1 }]);
    const malformed = await open(`?after=${Buffer.from(hostile).toString('base64url')}`);
    expect([malformed.status, await malformed.code()]).toEqual([400, 'INVALID_CURSOR']);
    await service.app
      .get(DataSource)
      .query(
        `update changes set at = at - interval '40 days' where id in (select id from changes order by id limit 3)`,
      );
    await pruneChanges(service.app.get(DataSource), 30);
    const expired = await open('?kinds=USER_DELETED', { lastEventId: cursor });
    expect([expired.status, await expired.code()]).toEqual([410, 'CHANGE_CURSOR_EXPIRED']);
  });

  it('rejects streams beyond the limits of a principal and of the service, until others have ended', async () => {
    for (let count = 0; count < 8; count++) expect((await open()).status).toBe(200);
    const rejected = await open();
    expect([rejected.status, await rejected.code()]).toEqual([429, 'RATE_LIMITED']);
    expect(Number(rejected.response.headers['retry-after'])).toBeGreaterThan(0);
    const other = await service.serviceAccount('directory');
    for (let count = 0; count < 4; count++)
      expect((await open('', { authorization: other })).status).toBe(200);
    const full = await open('', { authorization: other });
    expect([full.status, await full.code()]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    for (const stream of streams.splice(0, 8)) stream.close();
    const reopen = async () => {
      const stream = await open();
      if (stream.status !== 200) stream.close();
      return stream.status;
    };
    await eventually(reopen, 200);
  });

  it('sends a comment, and ends streams whose account was revoked or has other rights', async () => {
    const create = async (id: string) => {
      const accounts = service.app.get(ServiceAccountsService);
      const scopes = ['read', 'directory'];
      const options = { id, name: id, description: null, scopes, expiresAt: null, groups: null };
      const { token } = await accounts.create(options);
      return async () => (await open('?kinds=ROLE_CHANGED', { authorization: `Basic ${token}` })).begun();
    };
    const [openRevoked, openChanged] = [await create('revoked'), await create('changed')];
    const revoked = [await openRevoked(), await openRevoked(), await openRevoked()];
    const changed = await openChanged();
    const stays = await (await open('?kinds=ROLE_CHANGED')).begun();
    const { lastEventId } = stays;
    await service.app.get(ServiceAccountsService).revoke('revoked');
    await service.app
      .get(DataSource)
      .query(`update service_accounts set scopes = '{directory}' where id = 'changed'`);
    await change([...PEOPLE, { id: 'emil' }]);
    await Promise.all([...revoked, changed].map((stream) => stream.untilEnded()));
    await eventually(() => Promise.resolve(stays.comments > 0), true);
    expect([stays.isEnded, stays.events]).toEqual([false, []]);
    // The position moves on although no change was selected, so that it does not expire.
    expect(stays.lastEventId).not.toBe(lastEventId);
    await change(PEOPLE, [{ ...CLUB, owners: ['ben', 'anna'] }, BAND]);
    // The secrets that are no longer accepted were not counted as failed logins of this address.
    const resumed = await open('?kinds=ROLE_CHANGED', { lastEventId: stays.lastEventId });
    expect(await resumed.receive(1)).toEqual(await stays.receive(1));
    await change(PEOPLE);
  });

  it('closes the connection of a reader that does not read, which then resumes without a gap', async () => {
    const countOpen = () => Promise.resolve(service.app.get(ChangeFeed).places.size);
    await eventually(countOpen, 0);
    const slow = await (await open()).begun();
    const fast = await (await open()).begun();
    slow.response.pause();
    // More than the buffers of both ends of a connection hold.
    await service.app.get(DataSource).query(
      `insert into changes (revision, at, kind, user_key, user_id, user_uuid)
       select c.revision, c.at, ${numberOfKind('USER_UPDATED')}, u.key, u.id, u.entry_uuid
       from generate_series(1, 60000) cross join (select * from changes order by id desc limit 1) c
         cross join (select * from users order by key limit 1) u`,
    );
    await change([...PEOPLE, { id: 'final' }]);
    const events = await fast.receive(60_001);
    expect(events).toHaveLength(60_001);
    await eventually(countOpen, 1);
    slow.response.resume();
    await slow.untilEnded();
    expect(slow.events.length).toBeLessThan(60_001);
    const resumed = await open('', { lastEventId: slow.lastEventId });
    const rest = await resumed.receive(60_001 - slow.events.length);
    expect([...slow.events, ...rest].map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  it('passes nginx at once', async () => {
    const nginx = await TestNginx.start(service.config.port);
    const stream = await EventStream.open(`http://127.0.0.1:${nginx.port}`, '', { authorization });
    await stream.begun();
    await change([...PEOPLE, { id: 'nick' }]);
    expect((await stream.receive(2)).map(({ data }) => data.userId)).toEqual(['final', 'nick']);
    stream.close();
    await nginx.stop();
  });
});

it('ends streams when the service ends', async () => {
  const service = await TestService.start();
  const authorization = await service.serviceAccount('directory');
  const stream = await (await EventStream.open(service.url, '', { authorization })).begun();
  await service.stop();
  await stream.untilEnded();
});

describe('a stream with a token of an external issuer', () => {
  /** Seconds: a token is accepted for a minute after it expires, because clocks differ. */
  const TOLERANCE = 60;
  /** Seconds: the stream begins before that, also on a busy machine. */
  const LEFT = 15;
  const issuer = forSuite(() => ExternalIssuerProcess.start());
  const service = TestService.forSuite(() => ({
    ldif: buildLdif(PEOPLE, [CLUB, BAND]),
    environment: { ...issuer.environment, DIRECTORY_GUARD_PERCENT: '100' },
  }));

  beforeAll(async () => {
    await stopFollowing(service);
  });

  it('ends when the token expires, and is resumed with another one without a gap', async () => {
    const exp = Math.floor(Date.now() / 1000) + LEFT - TOLERANCE;
    const tokenUntil = (time: number) =>
      issuer.sign({ payload: { scope: 'directory', sub: 'anna', exp: time } });
    const stream = await EventStream.open(service.url, '', { authorization: await tokenUntil(exp) });
    await stream.begun();
    service.replaceDirectory(buildLdif([...PEOPLE, { id: 'dora' }], [CLUB, BAND]));
    await service.synchronize();
    const [received] = await stream.receive(1);
    await stream.untilEnded();
    expect(Date.now() / 1000).toBeGreaterThan(exp + TOLERANCE);
    service.replaceDirectory(buildLdif([...PEOPLE, { id: 'dora' }, { id: 'emil' }], [CLUB, BAND]));
    await service.synchronize();
    const authorization = await tokenUntil(exp + 3600);
    const resumed = await EventStream.open(service.url, '', {
      authorization,
      lastEventId: stream.lastEventId,
    });
    const [next] = await resumed.receive(1);
    expect([received?.data.userId, next?.data.userId]).toEqual(['dora', 'emil']);
    resumed.close();
  });
});
