import { buildLdif, type TestGroup, type TestPerson } from '../support/builders/directory.js';
import { namesOf, ScimClient, scimErrorOf, SEARCH_URN } from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

/** More than a page has. The order of names is not that of ids. */
const PEOPLE: TestPerson[] = Array.from({ length: 230 }, (_, index) => ({
  ...{ id: `p${index}`, name: `Name ${(index * 37) % 230} ${index}` },
  ...(index % 3 === 0 && { email: `p${index}@example.org` }),
}));
const GROUPS: TestGroup[] = [
  { id: 'all', name: 'All', members: PEOPLE.map(({ id }) => id) },
  { id: 'none', name: 'None' },
];
const EVERYONE = PEOPLE.map(({ id }) => id).sort();

const service = TestService.forSuite({ ldif: buildLdif(PEOPLE, GROUPS) });
let client: ScimClient;

beforeAll(async () => {
  await stopFollowing(service);
  client = new ScimClient(service, await service.serviceAccount('read', 'directory'));
});

describe('a list', () => {
  it.each([1, 7, 100])('has each user once, by cursor with %s a page', async (count) => {
    const filter = count === 1 ? 'userName sw "p1"' : 'userName pr';
    const pages = await client.pages('/Users', { count, filter, excludedAttributes: 'groups' });
    const expected = count === 1 ? EVERYONE.filter((id) => id.startsWith('p1')) : EVERYONE;
    expect(namesOf(...pages).sort()).toEqual(expected);
    expect(pages.every(({ totalResults }) => totalResults === expected.length)).toBe(true);
    expect(pages.slice(0, -1).every(({ itemsPerPage }) => itemsPerPage === count)).toBe(true);
  });

  it('has each user once, by index, in the order of the pages by cursor', async () => {
    const parameters = { sortBy: 'userName', sortOrder: 'descending', attributes: 'userName', count: 90 };
    const pages = await client.pages('/Users', parameters);
    for (const [number, page] of pages.entries()) {
      const startIndex = 1 + number * 90;
      const same = await client.list('/Users', { ...parameters, startIndex });
      expect([same.startIndex, namesOf(same)]).toEqual([startIndex, namesOf(page)]);
    }
    expect(namesOf(...pages)).toEqual([...EVERYONE].reverse());
  });

  it('continues after a cursor although users before it are gone', async () => {
    const parameters = { count: 100, attributes: 'userName' };
    const { Resources, nextCursor = '' } = await client.list('/Users', { ...parameters, cursor: '' });
    const gone = namesOf({ Resources: Resources.slice(0, 50) });
    const others = PEOPLE.filter(({ id }) => !gone.includes(id));
    service.replaceDirectory(buildLdif(others, GROUPS));
    await service.synchronize();
    const rest = [await client.list('/Users', { ...parameters, cursor: nextCursor })];
    rest.push(await client.list('/Users', { ...parameters, cursor: rest[0]?.nextCursor ?? '' }));
    expect([...namesOf({ Resources }, ...rest)].sort()).toEqual(EVERYONE);
    service.replaceDirectory(buildLdif(PEOPLE, GROUPS));
    await service.synchronize();
  });

  it.each([
    ['startIndex=0&count=2', { startIndex: 1, itemsPerPage: 2 }],
    ['count=0', { itemsPerPage: 0 }],
    ['count=0&filter=userName sw "p22"', { itemsPerPage: 0, totalResults: 11 }],
    ['startIndex=1000000&count=5', { itemsPerPage: 0 }],
    ['count=1000000000&attributes=userName&startIndex=229', { itemsPerPage: 2 }],
    ['filter=userName eq "absent"', { itemsPerPage: 0, totalResults: 0 }],
  ])('has the page that RFC 7644 says: %s', async (query, expected) => {
    const page = await client.list('/Users', Object.fromEntries(new URLSearchParams(query)));
    expect(page).toMatchObject({ totalResults: PEOPLE.length, ...expected });
  });

  it.each([
    ['sortBy=userName&filter=userName sw "p22"', /^p22,p220,p221/],
    ['sortBy=USERNAME&sortOrder=Descending&filter=userName sw "p22"', /^p229,p228/],
    ['sortBy=emails.value&filter=userName sw "p21"', /^p210,p213,p216,p219,p21/],
    ['sortBy=emails.value&sortOrder=descending&filter=userName sw "p21"', /,p219,p216,p213,p210$/],
  ])('is sorted, with absent values last or first: %s', async (query, expected) => {
    const page = await client.list('/Users', Object.fromEntries(new URLSearchParams(query)));
    expect(namesOf(page).join()).toMatch(expected);
  });

  it.each([
    ['startIndex=1000000000000000', 'invalidValue'],
    ['count=1.5', 'invalidValue'],
    ['cursor=forged', 'invalidCursor'],
    ['sortBy=__proto__', 'invalidPath'],
  ])('is rejected: %s', async (query, type) => {
    const answer = await client.request(`/Users?${query}`);
    expect(scimErrorOf(answer).slice(0, 2)).toEqual([400, type]);
  });

  it('has no page for the cursor of another list', async () => {
    const { nextCursor: cursor = '' } = await client.list('/Users', { cursor: '', count: 2 });
    for (const path of ['/Users?filter=active%20pr', '/Users?sortBy=userName', '/Groups?x']) {
      const answer = await client.request(`${path}&count=2&cursor=${cursor}`);
      expect([path, scimErrorOf(answer)[1]]).toEqual([path, 'invalidCursor']);
    }
  });

  it('has all members of a large group, and none if they are excluded', async () => {
    const [group] = (await client.list('/Groups', { filter: 'displayName eq "All"' })).Resources;
    expect(group?.['members']).toHaveLength(PEOPLE.length);
    expect(await client.get(`/Groups/${group?.id}`)).toEqual(group);
    const { Resources } = await client.list('/Groups', { excludedAttributes: 'members' });
    expect(Resources.filter((each) => 'members' in each)).toEqual([]);
  });
});

describe('a search by POST', () => {
  it('returns what the list by GET returns, and at the root users and groups', async () => {
    const parameters = { filter: 'userName sw "p1"', sortBy: 'userName', sortOrder: 'descending', count: 3 };
    const { body } = await client.search('/Users', { ...parameters, attributes: ['userName'] });
    expect(body).toEqual(await client.get('/Users', { ...parameters, attributes: 'userName' }));
    const both = await client.search('', { filter: 'displayName eq "All" or userName eq "p7"' });
    expect(both.body['totalResults']).toBe(2);
    expect(namesOf(both.body as never)).toEqual(['p7', 'All']);
  });

  it.each([
    ['{', 400],
    ['[]', 400],
    [`{"schemas": ["${SEARCH_URN}"], "count": [3]}`, 400],
    [`{"schemas": ["${SEARCH_URN}"], "filter": {}}`, 400],
    [`{"schemas": ["${SEARCH_URN}"], "__proto__": {"count": 1}, "sortBy": "constructor"}`, 400],
    [`{"schemas": ["${SEARCH_URN}"], "filter": "${'x'.repeat(1 << 20)}"}`, 413],
  ])('is rejected: %s', async (body, status) =>
    expect(scimErrorOf(await client.post('/Users/.search', body))[0]).toBe(status),
  );
});

describe('a request', () => {
  it.each([
    ['POST', '/Users', 405],
    ['PATCH', '/Users/ID', 405],
    ['DELETE', '/Groups/ID', 405],
    ['PUT', '/ServiceProviderConfig', 405],
    ['POST', '/Users/.search?x', 415],
    ['GET', '/Users/.search', 405],
    ['POST', '/Bulk', 501],
    ['GET', '/Me', 501],
    ['GET', '/Users/absent', 404],
    ['GET', '/Users/%E0%A4%A', 400],
    ['GET', `/Users/${'x'.repeat(1000)}`, 404],
    ['GET', `/Users?filter=${'x'.repeat(9000)}`, 414],
  ])('%s %s is an error of SCIM: %i', async (method, path, expected) => {
    const [user] = (await client.list('/Users', { count: 1 })).Resources;
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: '{}' } : {};
    const headers = { 'content-type': expected === 415 ? 'text/plain' : 'application/scim+json' };
    const answer = await client.request(path.replace('ID', user?.id ?? ''), {}, { method, headers, ...body });
    expect(scimErrorOf(answer)[0]).toBe(expected);
    if (expected === 405) expect(answer.headers.allow).toMatch(path.endsWith('.search') ? 'POST' : 'GET');
  });

  it('is answered in the type that Accept prefers, also if a connector adds a Content-Type', async () => {
    for (const [accept, type] of [
      ['application/scim+json', /^application\/scim\+json/],
      ['application/json', /^application\/json/],
      ['*/*', /^application\/scim\+json/],
    ] as const) {
      const headers = { accept, 'content-type': 'application/json' };
      const answer = await client.request('/Users?count=1&x=y&attributes=userName,ims', {}, { headers });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, expect.stringMatching(type)]);
      expect(answer.headers['directory-revision']).toMatch(/./);
    }
  });

  it.each([
    ['nested parentheses', `${'('.repeat(10_000)}userName pr${')'.repeat(10_000)}`],
    ['nested negations', `${'not ('.repeat(1000)}userName pr${')'.repeat(1000)}`],
    ['value paths in value paths', 'emails[value['.repeat(500)],
    ['many comparisons', Array.from({ length: 400 }, () => 'userName pr').join(' or ')],
    ['a long text', `userName co "${'x'.repeat(5000)}"`],
    ['NUL and lone surrogates', 'userName eq "\\u0000\\ud800"'],
    ['prototype', 'a.__proto__.b eq "x" and toString pr'],
  ])('with a hostile filter is answered at once: %s', async (_what, filter) => {
    const { status, body } = await client.search('/Users', { filter });
    expect(status === 200 || (status === 400 && body['scimType'] === 'invalidFilter')).toBe(true);
    expect((await client.request('/Users?count=1')).status).toBe(200);
  });
});
