import { DataSource } from 'typeorm';
import { AccessLog } from '../../src/access-log/access-log.js';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { SCIM_MODEL, scimLdif } from '../support/builders/scim-directory.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { FIELDS_URN, namesOf, ScimClient, scimErrorOf } from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const BADGE = `${FIELDS_URN}:badge`;

describe('a token', () => {
  const service = TestService.forSuite(() => ({ ldif: scimLdif(), environment: modelSetting(SCIM_MODEL) }));
  const clientWith = async (...scopes: string[]) =>
    new ScimClient(service, await service.serviceAccount(...(scopes as ['read'])));
  let anna: string;

  beforeAll(async () => {
    await stopFollowing(service);
    ({ anna = '' } = await (await clientWith('read', 'directory')).readIds());
  });

  it.each([
    [['read'], { Users: 403, Groups: 200, one: 200, ServiceProviderConfig: 200, Me: 501 }],
    [['read', 'directory'], { Users: 200, Groups: 200, one: 200, Schemas: 200, Bulk: 501 }],
    [['directory'], { Groups: 403, one: 403, ResourceTypes: 200 }],
    [['write'], { Users: 403, Groups: 403, one: 403, Schemas: 200 }],
  ])('with the scopes %s gets %j', async (scopes, expected) => {
    const client = await clientWith(...scopes);
    for (const [path, status] of Object.entries(expected)) {
      const answer = await client.request(path === 'one' ? `/Users/${anna}` : `/${path}`);
      expect([path, answer.status]).toEqual([path, status]);
      if (status !== 200) scimErrorOf(answer);
    }
    const { status } = await client.search('/Users', { filter: 'userName eq "anna"' });
    expect(status).toBe(scopes.includes('directory') ? 200 : 403);
  });

  it('is required, and verified, with the challenges of the API', async () => {
    for (const authorization of [null, 'Bearer x', 'Basic x', 'Digest x']) {
      const answer = await new ScimClient(service, authorization).request('/Users');
      expect(scimErrorOf(answer)[0]).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="directory".*, Basic realm/);
    }
    const bearer = new ScimClient(service, await service.accessToken('read'));
    expect(await bearer.get(`/Users/${anna}`)).toMatchObject({ userName: 'anna' });
  });

  it('without the scope of a field finds nothing of it, as if it did not exist', async () => {
    const having = await clientWith('read', 'directory', 'badges');
    const without = await clientWith('read', 'directory');
    const [filter, absent] = [`${BADGE} eq "b-7"`, `${FIELDS_URN}:other eq "b-7"`];
    expect(namesOf(await having.list('/Users', { filter }))).toEqual(['anna']);
    for (const [client, isThere] of [
      [having, true],
      [without, false],
    ] as const) {
      expect(JSON.stringify(await client.get(`/Users/${anna}`)).includes('B-7')).toBe(isThere);
      expect(JSON.stringify(await client.get(`/Schemas/${FIELDS_URN}`)).includes('badge')).toBe(isThere);
    }
    const detailOf = async (parameters: Record<string, string>) =>
      scimErrorOf(await without.request('/Users', parameters))[2];
    const unknown = await detailOf({ filter: absent });
    expect(unknown.replace('other', 'badge')).toBe(await detailOf({ filter }));
    expect(await detailOf({ sortBy: BADGE })).toMatch(/badge/);
  });

  it('limited to groups sees these, and their members', async () => {
    const limited = new ScimClient(service, await service.limitedAccount(['team'], 'read', 'directory'));
    expect(namesOf(await limited.list('/Groups'))).toEqual(['Team']);
    const page = await limited.list('/Users', { sortBy: 'userName' });
    expect([page.totalResults, namesOf(page)]).toEqual([2, ['ben', 'cleo']]);
    expect(page.Resources[0]?.['groups']).toMatchObject([{ display: 'Team' }]);
    expect((await limited.request(`/Users/${anna}`)).status).toBe(404);
    expect((await limited.list('/Users', { filter: 'userName eq "anna"' })).totalResults).toBe(0);
  });

  it('leaves in the access log who read which fields of how many users', async () => {
    const log = service.app.get(AccessLog);
    const dataSource = service.app.get(DataSource);
    const client = await clientWith('read', 'directory');
    await log.flush();
    await dataSource.query('delete from access_log');
    await client.list('/Users', { attributes: 'emails', count: 3 });
    await client.list('/Groups', { filter: 'displayName eq "Club"', attributes: 'members' });
    await log.flush();
    const counts: { field: string; users: string }[] = await dataSource.query(
      'select field, users from access_log order by field',
    );
    expect(counts.map(({ field, users }) => `${field} ${users}`)).toEqual([
      'User.email 3',
      'User.name 3',
      'User.nodeId 6',
    ]);
  });
});

describe('what a viewer does not see', () => {
  const service = TestService.forSuite(() => ({
    ldif: buildLdif(
      [{ id: 'ada.martin' }, { id: 'ben' }, { id: 'hidden', familyName: 'hidden', email: 'h@example.org' }],
      [
        { id: 'club', name: 'Club', members: ['ada.martin', 'hidden', '@secret'] },
        { id: 'secret', name: 'Secret', description: 'secret', members: ['ben'] },
        { id: 'private', name: 'Private', description: 'private', members: ['ben'] },
      ],
    ),
    visibility: TEST_RULES,
  }));
  let all: ScimClient;
  let some: ScimClient;
  let ids: Record<string, string>;

  beforeAll(async () => {
    await stopFollowing(service);
    all = new ScimClient(service, await service.serviceAccount('read', 'directory', 'confidential'));
    some = new ScimClient(service, await service.serviceAccount('read', 'directory'));
    ids = await all.readIds();
  });

  it('is in no count, page, filter and order', async () => {
    for (const query of [
      'sortBy=name.familyName',
      'count=1',
      'count=0',
      'filter=not (userName eq "ben")',
      'filter=emails.value eq "h@example.org"',
      `filter=groups.value eq "${ids['club']}"`,
      `filter=id eq "${ids['hidden']}"`,
    ]) {
      const parameters = Object.fromEntries(new URLSearchParams(query));
      const [whole, visible] = [await all.list('/Users', parameters), await some.list('/Users', parameters)];
      expect(whole.totalResults - visible.totalResults).toBe(1);
      expect(namesOf(visible)).not.toContain('hidden');
    }
    expect(namesOf(await some.list('/Groups', { sortBy: 'displayName' }))).toEqual(['Club', 'Private']);
  });

  it('is not found by its id, as what does not exist', async () => {
    for (const [path, name] of [
      ['/Users', 'hidden'],
      ['/Groups', 'secret'],
    ] as const) {
      const { [name]: id = '' } = ids;
      expect((await all.request(`${path}/${id}`)).status).toBe(200);
      const absent = '00000000-0000-4000-8000-000000000000';
      const [found, other] = [await some.request(`${path}/${id}`), await some.request(`${path}/${absent}`)];
      expect([found.status, JSON.stringify(found.body)]).toEqual([404, JSON.stringify(other.body)]);
    }
  });

  it('is in no members, groups and filters by them', async () => {
    const [club] = (await some.list('/Groups', { filter: 'displayName eq "Club"' })).Resources;
    expect(club?.['members']).toMatchObject([{ display: 'ada.martin' }, { display: 'ben' }]);
    expect(await some.get(`/Groups/${ids['private']}`)).not.toHaveProperty('members');
    expect((await some.get(`/Users/${ids['ben']}`))['groups']).toMatchObject([{ display: 'Club' }]);
    for (const name of ['private', 'secret']) {
      const filter = `groups.value eq "${ids[name]}"`;
      expect((await all.list('/Users', { filter })).totalResults).toBe(1);
      expect((await some.list('/Users', { filter })).totalResults).toBe(0);
    }
    const filter = `members.value eq "${ids['ben']}"`;
    expect(namesOf(await some.list('/Groups', { filter }))).toEqual(['Club']);
  });
});

describe('the limits', () => {
  const service = TestService.forSuite({
    ldif: buildLdif([{ id: 'anna' }, { id: 'ben' }], [{ id: 'club', members: ['anna', 'ben'] }]),
    environment: { LIMIT_REQUESTS_PER_MINUTE: '6', LIMIT_POINTS_PER_HOUR: '20' },
  });

  it('count requests and points, in the headers of the API', async () => {
    await stopFollowing(service);
    const client = new ScimClient(service, await service.serviceAccount('read', 'directory'));
    const { headers } = await client.request('/Users', { count: 2, excludedAttributes: 'groups' });
    expect(headers['ratelimit']).toMatch(/^"requests";r=5;t=\d+, "points";r=19;t=\d+/);
    for (let time = 0; time < 5; time++) await client.list('/Groups', { count: 1 });
    const last = await client.request('/Groups');
    expect(scimErrorOf(last)[0]).toBe(429);
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
  });
});
