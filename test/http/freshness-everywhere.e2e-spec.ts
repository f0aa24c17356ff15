/** @isolated The suite fakes the clock. */
import sharp from 'sharp';
import { DataSource } from 'typeorm';
import { Database } from '../../src/database/database.js';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { send } from '../support/clients/http.js';
import { readStatus, stopFollowing } from '../support/clients/mirror.js';
import { TIMERS } from '../support/timers.js';
import { TestService } from '../support/servers/service.js';

const USER = '{ user(user: {id: "anna"}) { name } }';
const PREVIEW = 'mutation { deleteGroup(input: {group: {id: "club"}}) { clientMutationId } }';
const ORIGIN = 'https://pages.example';

describe('freshness, on each kind of database', () => {
  let service: TestService;
  let authorization: string;

  beforeAll(async () => {
    const photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer();
    service = await TestService.start({
      ldif: buildLdif([{ id: 'anna', name: 'Anna', photo }, { id: 'ben' }], [{ id: 'club' }]),
      environment: { CORS_ORIGINS: ORIGIN },
      compared: false,
    });
    authorization = await service.serviceAccount('read', 'write', 'directory');
    await stopFollowing(service);
  });

  afterEach(async () => {
    jest.useRealTimers();
    await makeOld(0);
  });

  afterAll(() => service.stop());

  function urlOf(id: string, kind: 'photo' | 'picture' = 'photo'): string {
    const { signing: key } = service.app.get<SigningKeys>(SIGNING_KEYS);
    return `${service.url}${signUrl({ baseUrl: '', kind, id, size: null, now: new Date(), key })}`;
  }

  const freshnessIn = (headers: Headers) => ({
    revision: headers.get('directory-revision'),
    asOf: headers.get('directory-as-of'),
  });

  async function fetchFresh(url: string, init: RequestInit = {}) {
    const response = await fetch(url, init);
    const { status, headers } = response;
    return { status, ...freshnessIn(headers), headers, response };
  }

  async function sendRequest(query: string, headers: Record<string, string> = {}) {
    const answer = await service.query(query, { authorization, headers });
    return { ...answer, ...freshnessIn(answer.headers) };
  }

  async function makeOld(seconds: number): Promise<void> {
    await service.app
      .get(DataSource)
      .query('update mirror_state set as_of = clock_timestamp() - make_interval(secs => $1)', [seconds]);
    service.app.get(Database).revisions.ask();
    const { asOf } = await readStatus(service);
    await eventually(async () => (await sendRequest(USER)).asOf, asOf);
  }

  describe('pictures', () => {
    it('report it like responses, also for missing pictures and conditional requests', async () => {
      const { revision, asOf } = await sendRequest(USER);
      const first = await fetchFresh(urlOf('anna'));
      const etag = first.headers.get('etag') ?? '';
      const others = [
        await fetchFresh(urlOf('anna')),
        await fetchFresh(urlOf('anna'), { method: 'HEAD' }),
        await fetchFresh(urlOf('anna'), { headers: { 'if-none-match': etag } }),
        await fetchFresh(urlOf('ben')),
        await fetchFresh(urlOf('nobody', 'picture')),
      ];
      expect([first, ...others].map(({ status }) => status)).toEqual([200, 200, 200, 304, 404, 404]);
      for (const each of [first, ...others]) expect([each.revision, each.asOf]).toEqual([revision, asOf]);
    });

    it('expose it to pages of other origins', async () => {
      const { headers } = await fetchFresh(urlOf('anna'), { headers: { origin: ORIGIN } });
      expect(headers.get('access-control-expose-headers')).toMatch(/directory-as-of.*directory-revision/);
    });

    it('do not report it if the URL is invalid', async () => {
      const forged = urlOf('anna').replace(/signature=.{8}/, 'signature=00000000');
      for (const url of [forged, urlOf('anna').replace(/\?.*/, '')]) {
        expect(await fetchFresh(url)).toMatchObject({ revision: null, asOf: null });
      }
    });

    it('are rejected if the mirror is older than Directory-Max-Staleness', async () => {
      const etag = (await fetchFresh(urlOf('anna'))).headers.get('etag') ?? '';
      const headers = { 'directory-max-staleness': '3600' };
      expect((await fetchFresh(urlOf('anna'), { headers })).status).toBe(200);
      await makeOld(7200);
      for (const [id, more] of [
        ['anna', {}],
        ['anna', { 'if-none-match': etag }],
        ['nobody', {}],
      ] as const) {
        const answer = await fetchFresh(urlOf(id), { headers: { ...headers, ...more } });
        expect([
          answer.status,
          answer.headers.get('retry-after'),
          answer.headers.get('cache-control'),
        ]).toEqual([503, '1', 'no-store']);
        expect(await answer.response.json()).toMatchObject({ code: 'STALE', status: 503 });
      }
      expect((await fetchFresh(urlOf('anna'))).status).toBe(200);
    });

    it.each(['', '-1', '1.5', 'ten', '1, 2', '123456789012'])('reject %p', async (value) => {
      const { status, response } = await fetchFresh(urlOf('anna'), {
        headers: { 'directory-max-staleness': value },
      });
      expect([status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ code: 'BAD_REQUEST' }) as unknown,
      ]);
    });
  });

  it('is rejected in two header fields, by responses and pictures', async () => {
    const headers = { 'directory-max-staleness': ['1', '2'] };
    const path = urlOf('anna').slice(service.url.length);
    const query = `/graphql/v1?query=${encodeURIComponent(USER)}`;
    const answers = [
      await send(service, { path, headers }),
      await send(service, { path: query, headers: { ...headers, authorization } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
  });

  it.each([
    ['answers', USER],
    ['previews', PREVIEW],
  ])('accepts the bound %s', async (_, query) => {
    const bound = { 'directory-max-staleness': '3600' };
    for (let time = 0; time < 3; time++) expect((await sendRequest(query, bound)).status).toBe(200);
    await makeOld(7200);
    for (let time = 0; time < 3; time++) expect((await sendRequest(query, bound)).status).toBe(503);
    expect((await sendRequest(query, { 'directory-max-staleness': '0' })).status).toBe(503);
    expect((await sendRequest(query)).status).toBe(200);
  });

  it.each([1, -1])(
    'uses the clock of the database while that of the process is off by %d hours',
    async (hours) => {
      const readClock = async () => {
        const [row] = await service.app
          .get(DataSource)
          .query<{ now: Date }[]>('select clock_timestamp() as now');
        return row?.now.getTime() ?? NaN;
      };
      jest.useFakeTimers({ now: Date.now() + hours * 3_600_000, doNotFake: [...TIMERS] });
      const begun = await readClock();
      expect((await service.synchronize()).kind).toBe('unchanged');
      const ended = await readClock();
      const asOf = Date.parse((await readStatus(service)).asOf ?? '');
      expect([asOf >= Math.floor(begun), asOf <= ended]).toEqual([true, true]);
      await eventually(
        async () => (await sendRequest(USER, { 'directory-max-staleness': '1800' })).status,
        200,
      );
      const report = (await (await fetch(`${service.url}/_readiness`)).json()) as {
        details: { mirror: { ageSeconds: number } };
      };
      expect(report.details.mirror.ageSeconds).toBeLessThan(1800);
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      expect(Number(/^directory_mirror_age_seconds\{[^}]*\} (\S+)$/m.exec(metrics)?.[1])).toBeLessThan(1800);
      const revisions: { agrees: boolean }[] = await service.app
        .get(DataSource)
        .query(`select max(applied_at) <= clock_timestamp() as agrees from revisions`);
      expect(revisions).toEqual([{ agrees: true }]);
    },
  );
});
