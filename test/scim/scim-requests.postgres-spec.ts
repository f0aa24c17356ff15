import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { namesOf, ScimClient, scimErrorOf, SEARCH_URN } from '../support/clients/scim.js';
import { send } from '../support/clients/http.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** More than a page has. */
const PEOPLE: TestPerson[] = Array.from({ length: 230 }, (_, index) => ({
  id: `p${index}`,
  // The order of names is not that of ids.
  name: `Name ${(index * 37) % 230} ${index}`,
  ...(index % 3 === 0 && { email: `p${index}@example.org` }),
}));
const GROUPS: TestGroup[] = [
  { id: 'all', name: 'All', members: PEOPLE.map(({ id }) => id) },
  { id: 'none', name: 'None' },
];

const service = TestService.forSuite({ ldif: buildLdif(PEOPLE, GROUPS) });
let client: ScimClient;

beforeAll(async () => {
  await stopFollowing(service);
  client = new ScimClient(service, await service.serviceAccount('read', 'directory'));
});

describe('a list', () => {
  const everyone = PEOPLE.map(({ id }) => id).sort();

  it.each([1, 7, 100])('has each user once, by cursor with %s a page', async (count) => {
    const filter = count === 1 ? 'userName sw "p1"' : 'userName pr';
    const pages = await client.pages('/Users', { count, filter, excludedAttributes: 'groups' });
    const expected = count === 1 ? everyone.filter((id) => id.startsWith('p1')) : everyone;
    expect(namesOf(...pages).sort()).toEqual(expected);
    expect(new Set(pages.map(({ totalResults }) => totalResults))).toEqual(new Set([expected.length]));
    const sizes = pages.map(({ itemsPerPage }) => itemsPerPage);
    expect(sizes.slice(0, -1).every((size) => size === count)).toBe(true);
    expect(pages[0]).not.toHaveProperty('previousCursor');
    const { previousCursor = '' } = pages[1] ?? {};
    expect(namesOf(await client.list('/Users', { count, filter, cursor: previousCursor }))).toEqual(
      namesOf(pages[0] ?? { Resources: [] }),
    );
  });

  it('has each user once, by index', async () => {
    const names: unknown[] = [];
    for (let startIndex = 1; startIndex <= PEOPLE.length; startIndex += 90) {
      const page = await client.list('/Users', { startIndex, count: 90, attributes: 'userName' });
      expect(page).toMatchObject({ startIndex, totalResults: PEOPLE.length });
      names.push(...namesOf(page));
    }
    expect(names.sort()).toEqual(everyone);
  });

  it('has the same order by index and by cursor', async () => {
    const parameters = { sortBy: 'userName', sortOrder: 'descending', attributes: 'userName', count: 100 };
    const pages = await client.pages('/Users', parameters);
    const first = await client.list('/Users', { ...parameters, startIndex: 101 });
    expect(namesOf(first)).toEqual(namesOf(pages[1] ?? { Resources: [] }));
  });

  it('continues after a cursor although users before it are gone', async () => {
    const parameters = { count: 100, attributes: 'userName' };
    const { Resources, nextCursor = '' } = await client.list('/Users', { ...parameters, cursor: '' });
    const gone = namesOf({ Resources: Resources.slice(0, 50) });
    service.replaceDirectory(
      buildLdif(
        PEOPLE.filter(({ id }) => !gone.includes(id)),
        GROUPS,
      ),
    );
    await service.synchronize();
    const rest = [await client.list('/Users', { ...parameters, cursor: nextCursor })];
    rest.push(await client.list('/Users', { ...parameters, cursor: rest[0]?.nextCursor ?? '' }));
    expect([...namesOf({ Resources }, ...rest)].sort()).toEqual(everyone);
    service.replaceDirectory(buildLdif(PEOPLE, GROUPS));
    await service.synchronize();
  });

  it.each([
    ['startIndex=0&count=2', { startIndex: 1, itemsPerPage: 2 }],
    ['startIndex=-5&count=2', { startIndex: 1, itemsPerPage: 2 }],
    ['count=0', { itemsPerPage: 0 }],
    ['count=-1', { itemsPerPage: 0 }],
    ['count=0&filter=userName sw "p22"', { itemsPerPage: 0, totalResults: 11 }],
    ['startIndex=231', { startIndex: 231, itemsPerPage: 0 }],
    ['startIndex=1000000&count=5', { itemsPerPage: 0 }],
    ['count=1000000000&attributes=userName&startIndex=229', { itemsPerPage: 2 }],
    ['filter=userName eq "absent"', { itemsPerPage: 0, totalResults: 0 }],
  ])('has the page that RFC 7644 says: %s', async (query, expected) => {
    const parameters = Object.fromEntries(new URLSearchParams(query));
    const page = await client.list('/Users', parameters);
    expect(page).toMatchObject({ totalResults: PEOPLE.length, ...expected });
  });

  it.each([
    ['sortBy=userName&filter=userName sw "p22"', /^p22,p220,p221/],
    ['sortBy=USERNAME&sortOrder=Descending&filter=userName sw "p22"', /^p229,p228/],
    ['sortBy=displayName&filter=userName eq "p1" or userName eq "p2"', /^p1,p2$/],
    ['sortBy=displayName&sortOrder=descending&filter=userName eq "p1" or userName eq "p2"', /^p2,p1$/],
    ['sortBy=name.formatted&sortOrder=descending&filter=userName eq "p1" or userName eq "p2"', /^p2,p1$/],
    ['sortBy=meta.lastModified&filter=userName eq "p1"', /^p1$/],
    ['sortBy=emails.value&filter=userName sw "p21"', /^p210,p213,p216,p219,p21/],
    ['sortBy=emails.value&sortOrder=descending&filter=userName sw "p21"', /,p219,p216,p213,p210$/],
  ])('is sorted: %s', async (query, expected) => {
    const page = await client.list('/Users', Object.fromEntries(new URLSearchParams(query)));
    expect(namesOf(page).join()).toMatch(expected);
  });

  it.each([
    ['startIndex=one', 'invalidValue'],
    ['startIndex=1000000000000000', 'invalidValue'],
    ['count=1.5', 'invalidValue'],
    ['count=x&cursor=', 'invalidCount'],
    ['cursor=forged', 'invalidCursor'],
    ['sortBy=photos', 'invalidPath'],
    ['sortBy=__proto__', 'invalidPath'],
    ['sortOrder=upwards&sortBy=userName', 'invalidValue'],
    ['attributes=userName&excludedAttributes=name', 'invalidValue'],
    ['filter=userName pr&filter=userName pr', 'invalidSyntax'],
  ])('is rejected: %s', async (query, type) => {
    const answer = await client.request(`/Users?${query.replaceAll(' ', '%20')}`);
    expect(scimErrorOf(answer).slice(0, 2)).toEqual([400, type]);
  });

  it('has no page for the cursor of another list', async () => {
    const { nextCursor: cursor = '' } = await client.list('/Users', { cursor: '', count: 2 });
    expect(cursor).not.toBe('');
    for (const [path, rest] of [
      ['/Users', { filter: 'active eq true' }],
      ['/Users', { sortBy: 'userName' }],
      ['/Groups', {}],
    ] as const) {
      const answer = await client.request(path, { ...rest, count: 2, cursor });
      expect(scimErrorOf(answer).slice(0, 2)).toEqual([400, 'invalidCursor']);
    }
  });

  it('has all members of a large group, and none if they are excluded', async () => {
    const [group] = (await client.list('/Groups', { filter: 'displayName eq "All"' })).Resources;
    expect(group?.['members']).toHaveLength(PEOPLE.length);
    expect(await client.get(`/Groups/${group?.id}`)).toEqual(group);
    const { Resources } = await client.list('/Groups', { excludedAttributes: 'members' });
    expect(Resources.map(({ displayName, members }) => [displayName, members])).toEqual([
      ['All', undefined],
      ['None', undefined],
    ]);
  });
});

describe('a search by POST', () => {
  it('returns what the list by GET returns', async () => {
    const parameters = { filter: 'userName sw "p1"', sortBy: 'userName', sortOrder: 'descending', count: 3 };
    const { status, body } = await client.search('/Users', { ...parameters, attributes: ['userName'] });
    expect(status).toBe(200);
    expect(body).toEqual(await client.get('/Users', { ...parameters, attributes: 'userName' }));
    const { nextCursor: cursor } = await client.list('/Groups', { count: 1, cursor: '' });
    expect((await client.search('/Groups', { count: 1, cursor })).body).toEqual(
      await client.get('/Groups', { count: 1, cursor: cursor ?? '' }),
    );
  });

  it('finds users and groups at the root', async () => {
    const { body } = await client.search('', { filter: 'displayName eq "All" or userName eq "p7"' });
    const { Resources, totalResults } = body as never;
    expect([totalResults, namesOf({ Resources })]).toEqual([2, ['p7', 'All']]);
  });

  it.each([
    ['{', 400, 'invalidSyntax'],
    ['[]', 400, 'invalidSyntax'],
    [`{"schemas": ["${SEARCH_URN}"], "count": [3]}`, 400, 'invalidValue'],
    [`{"schemas": ["${SEARCH_URN}"], "filter": {}}`, 400, null],
    [
      `{"schemas": ["${SEARCH_URN}"], "__proto__": {"count": 1}, "sortBy": "constructor"}`,
      400,
      'invalidPath',
    ],
    [`{"schemas": ["${SEARCH_URN}"], "filter": "${'x'.repeat(1 << 20)}"}`, 413, null],
  ])('is rejected: %s', async (body, status, type) => {
    const found = scimErrorOf(await client.post('/Users/.search', body));
    expect(found[0]).toBe(status);
    if (type !== null) expect(found[1]).toBe(type);
  });
});

describe('a request', () => {
  it.each([
    ['POST', '/Users', 405],
    ['PUT', '/Users/ID', 405],
    ['PATCH', '/Users/ID', 405],
    ['DELETE', '/Users/ID', 405],
    ['POST', '/Groups', 405],
    ['DELETE', '/Groups/ID', 405],
    ['PUT', '/ServiceProviderConfig', 405],
    ['POST', '/Schemas', 405],
    ['GET', '/Users/.search', 405],
    ['POST', '/Bulk', 501],
    ['GET', '/Me', 501],
    ['GET', '/Absent', 404],
    ['GET', '/Users/absent', 404],
    ['GET', '/Groups/00000000-0000-4000-8000-000000000000', 404],
    ['GET', '/Users/%00', 404],
    ['GET', '/Users/%E0%A4%A', 400],
    ['GET', `/Users/${'x'.repeat(1000)}`, 404],
    ['GET', '/ResourceTypes/__proto__', 404],
    ['GET', '/Schemas/constructor', 404],
  ])('%s %s is an error of SCIM: %i', async (method, path, expected) => {
    const [user] = (await client.list('/Users', { count: 1 })).Resources;
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: '{}' } : {};
    const headers = { 'content-type': 'application/scim+json' };
    const answer = await client.request(path.replace('ID', user?.id ?? ''), {}, { method, headers, ...body });
    expect(scimErrorOf(answer)[0]).toBe(expected);
    if (expected === 405) expect(answer.headers.allow).toBe(path.endsWith('.search') ? 'POST' : 'GET, HEAD');
  });

  it.each([
    ['application/scim+json', 200, /^application\/scim\+json/],
    ['application/json', 200, /^application\/json/],
    ['*/*', 200, /^application\/scim\+json/],
    ['text/html, application/*;q=0.5', 200, /^application\/scim\+json/],
    ['text/html', 406, /^application\/scim\+json/],
  ])('that accepts %s is answered with %i', async (accept, status, type) => {
    const answer = await client.request('/Users?count=1', {}, { headers: { accept } });
    expect([answer.status, answer.headers['content-type']]).toEqual([status, expect.stringMatching(type)]);
  });

  it('may have a Content-Type without a body, as connectors send it, and an unknown parameter', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const { status } = await client.request('/Users?count=1&x=y&attributes=userName,ims', {}, { headers });
    expect(status).toBe(200);
  });

  it('by HEAD has the headers of GET', async () => {
    const { headers } = await client.request('/Users?count=3');
    const head = await client.request('/Users?count=3', {}, { method: 'HEAD' });
    expect([head.status, head.body, head.headers['content-length']]).toEqual([
      200,
      {},
      headers['content-length'],
    ]);
    expect(headers['directory-revision']).toMatch(/./);
    expect(headers['cache-control']).toBe('private, no-cache');
  });

  it('with another type of body is rejected', async () => {
    const answer = await client.post('/Users/.search', { schemas: [SEARCH_URN] }, 'text/plain');
    expect(scimErrorOf(answer)[0]).toBe(415);
  });

  it.each([
    ['nested parentheses', `${'('.repeat(10_000)}userName pr${')'.repeat(10_000)}`],
    ['nested negations', `${'not ('.repeat(1000)}userName pr${')'.repeat(1000)}`],
    ['value paths in value paths', 'emails[value['.repeat(500)],
    ['many comparisons', Array.from({ length: 400 }, () => 'userName pr').join(' or ')],
    ['a long text', `userName co "${'x'.repeat(5000)}"`],
    ['a pattern', `displayName co "${'%_'.repeat(1500)}"`],
    ['NUL and lone surrogates', 'userName eq "\\u0000\\ud800"'],
    ['bytes that are no UTF-8', 'userName eq "\u0080\ufffd"'],
    ['prototype', 'a.__proto__.b eq "x" and toString pr'],
  ])('with a hostile filter is answered at once: %s', async (_what, filter) => {
    const { status, body } = await client.search('/Users', { filter });
    expect(status === 200 || (status === 400 && body['scimType'] === 'invalidFilter')).toBe(true);
    const { status: next } = await client.request('/Users?count=1');
    expect(next).toBe(200);
  });

  it('whose URL is too long is rejected as elsewhere', async () => {
    const answer = await send(service, { path: `/scim/v2/Users?filter=${'x'.repeat(20_000)}` });
    expect([401, 413, 414, 431]).toContain(answer.status);
  });
});
