/** @isolated The suite fakes the clock. */
import { writeClients } from '../support/clients/clients.js';
import { PICTURE, buildLdif } from '../support/builders/directory.js';
import { dataOf, get, type HttpAnswer } from '../support/clients/http.js';
import { takeOver } from '../support/clients/mirror.js';
import { TIMERS } from '../support/timers.js';
import { TestService } from '../support/servers/service.js';

const ldif = (ben: string) =>
  buildLdif(
    [
      { id: 'ada', name: 'Ada' },
      { id: 'ben', name: ben, photo: PICTURE },
    ],
    [{ id: 'club', members: ['ben'] }],
  );
const CLUB = '{ group(group: {id: "club"}) { members(first: 5) { nodes { user { name } } } } }';
const PHOTOS = '{ group(group: {id: "club"}) { members(first: 5) { nodes { user { photo } } } } }';

describe('a conditional request by GET', () => {
  const environment = {
    CORS_ORIGINS: 'https://pages.example',
    AUTH_EMBEDDED_CLIENTS: writeClients(['ada', 'ben'].map((id) => ({ id: `client-of-${id}`, owner: id }))),
  };
  const service = TestService.forSuite({ ldif: ldif('Ben'), environment, compared: false });
  /** Another process of the service. */
  let uncached: TestService;
  let reader: string;

  beforeAll(async () => {
    reader = await service.serviceAccount('read');
    const { database, baseUrl } = service.config;
    uncached = await TestService.start({
      environment: {
        ...environment,
        DATABASE_URL: database.url,
        BASE_URL: baseUrl,
        RESPONSE_CACHE_MEGABYTES: '0',
      },
      compared: false,
    });
  });

  afterAll(() => uncached.stop());

  const ask = (query: string, headers: Record<string, string> = {}, to: TestService = service) =>
    get(to, { query }, { authorization: reader, ...headers });
  const tagOf = ({ headers }: HttpAnswer) => String(headers.etag);
  const askAgain = (query: string, etag: string, headers: Record<string, string> = {}, to = service) =>
    ask(query, { 'if-none-match': etag, ...headers }, to);
  /** A query whose response is not cached yet. */
  let comments = 0;
  const newQuery = (query = CLUB) => `${query} # ${++comments}`;

  it('has an entity tag, for caches of one caller that ask before each use', async () => {
    for (const headers of [{}, { origin: 'https://pages.example' }] as Record<string, string>[]) {
      const answer = await ask(newQuery(), headers);
      expect(answer.headers.etag).toMatch(/^W\/"[\w-]{22}"$/);
      expect(answer.headers['cache-control']).toBe('private, no-cache');
      expect(String(answer.headers.vary).split(', ')).toEqual(
        expect.arrayContaining(['Accept', 'Authorization', 'Origin']),
      );
    }
  });

  it.each([
    ['not cached', () => uncached],
    ['cached', () => service],
  ])('is 304 if nothing changed, and the response is %s', async (_how, to) => {
    const query = newQuery();
    const first = await ask(query, {}, to());
    const again = await askAgain(query, tagOf(first), {}, to());
    expect([again.status, again.body]).toEqual([304, '']);
    for (const name of ['etag', 'vary', 'cache-control', 'directory-revision'])
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    expect(again.headers).not.toHaveProperty('content-length');
    expect(again.headers['directory-as-of']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(again.headers['ratelimit']).toMatch(/"requests".*directory-cost=1/);
  });

  it('is 304 only for the user of the token if the response is about the user', async () => {
    const [ada, ben] = await Promise.all(
      ['ada', 'ben'].map((id) => service.accessToken('profile', `client-of-${id}`)),
    );
    const query = newQuery('{ profile { name } }');
    for (let time = 0; time < 3; time++) {
      const etag = tagOf(await ask(query, { authorization: String(ada) }));
      expect((await askAgain(query, etag, { authorization: String(ada) })).status).toBe(304);
      expect((await askAgain(query, etag, { authorization: String(ben) })).status).toBe(200);
    }
  });

  it('is 200 after a revision', async () => {
    const query = newQuery();
    const before = tagOf(await ask(query));
    await takeOver(service, ldif('Benjamin'));
    const after = await askAgain(query, before);
    expect([after.status, dataOf(after)]).toMatchObject([
      200,
      { group: { members: { nodes: [{ user: { name: 'Benjamin' } }] } } },
    ]);
    expect(tagOf(after)).not.toBe(before);
    expect((await askAgain(query, tagOf(after))).status).toBe(304);
  });

  it('is 200 in another quarter of an hour if the response has signed URLs', async () => {
    for (const to of [service, uncached]) {
      const [query, plain] = [newQuery(PHOTOS), newQuery()];
      let first = await ask(query, {}, to);
      const plainTag = tagOf(await ask(plain, {}, to));
      // Both are of the same quarter, unless one has just begun.
      if (tagOf(await ask(query, {}, to)) !== tagOf(first)) first = await ask(query, {}, to);
      expect((await askAgain(query, tagOf(first), {}, to)).status).toBe(304);
      jest.useFakeTimers({ now: Date.now() + 900_000, doNotFake: [...TIMERS] });
      try {
        const later = await askAgain(query, tagOf(first), {}, to);
        expect(later.status).toBe(200);
        expect(later.body).not.toBe(first.body);
        expect((await askAgain(query, tagOf(later), {}, to)).status).toBe(304);
        expect((await askAgain(plain, plainTag, {}, to)).status).toBe(304);
      } finally {
        jest.useRealTimers();
      }
    }
  });
});
