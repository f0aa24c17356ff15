import { DataSource } from 'typeorm';
import { AccessLog } from '../../src/access-log/access-log.js';
import { AccessLogEntity } from '../../src/access-log/access-log.entity.js';
import { listCounts } from '../../src/access-log/access-counts.js';
import { buildLdif } from '../support/builders/directory.js';
import { modelSetting } from '../support/builders/model-file.js';
import { SCIM_MODEL, scimLdif } from '../support/builders/scim-directory.js';
import { TEST_RULES } from '../support/builders/visibility-rules.js';
import { ENTERPRISE_URN, FIELDS_URN, namesOf, ScimClient, scimErrorOf } from '../support/clients/scim.js';
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
    anna = (await (await clientWith('read', 'directory')).findUser('anna'))?.id ?? '';
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
      for (const path of ['/Users', '/Schemas', '/Bulk']) {
        const answer = await new ScimClient(service, authorization).request(path);
        expect(scimErrorOf(answer)[0]).toBe(401);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="directory".*, Basic realm/);
      }
    }
  });

  it('of a user works as one of a service account', async () => {
    const bearer = new ScimClient(service, await service.accessToken('read'));
    expect(await bearer.get(`/Users/${anna}`)).toMatchObject({ userName: 'anna' });
  });

  it('without the scope of a field finds nothing of it', async () => {
    const [without, having] = [
      await clientWith('read', 'directory'),
      await clientWith('read', 'directory', 'badges'),
    ];
    const read = (client: ScimClient) =>
      client.get(`/Users/${anna}`, { attributes: `${BADGE},${ENTERPRISE_URN}` });
    expect(await read(having)).toHaveProperty([FIELDS_URN], { badge: 'B-7' });
    expect(await read(without)).not.toHaveProperty([FIELDS_URN]);
    const names = async (client: ScimClient) => JSON.stringify(await client.get(`/Schemas/${FIELDS_URN}`));
    expect([await names(having), await names(without)]).toEqual([
      expect.stringContaining('badge'),
      expect.not.stringContaining('badge'),
    ]);
    const filter = `${BADGE} eq "b-7"`;
    expect(namesOf(await having.list('/Users', { filter }))).toEqual(['anna']);
    for (const [parameters, type] of [
      [{ filter }, 'invalidFilter'],
      [{ sortBy: BADGE }, 'invalidPath'],
    ] as const) {
      const [status, found, detail] = scimErrorOf(await without.request('/Users', parameters));
      const unknown = scimErrorOf(
        await without.request(
          '/Users',
          JSON.parse(JSON.stringify(parameters).replace('badge', 'other')) as never,
        ),
      );
      expect([status, found]).toEqual([400, type]);
      // As for a field that does not exist.
      expect(unknown[2]).toBe(detail.replace('badge', 'other'));
    }
  });

  it('limited to groups sees these, and their members', async () => {
    const limited = new ScimClient(service, await service.limitedAccount(['team'], 'read', 'directory'));
    expect(namesOf(await limited.list('/Groups'))).toEqual(['Team']);
    const page = await limited.list('/Users', { sortBy: 'userName' });
    expect([page.totalResults, namesOf(page)]).toEqual([2, ['ben', 'cleo']]);
    expect(page.Resources[0]?.['groups']).toMatchObject([{ display: 'Team' }]);
    // The manager of Anna is visible, and she is not.
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
    const counts = await listCounts(dataSource.getRepository(AccessLogEntity), {
      ...{ from: '2000-01-01', to: '2100-01-01', principal: null },
    });
    const found = Object.fromEntries(counts.map(({ field, requests, users }) => [field, [requests, users]]));
    expect(found).toMatchObject({ 'User.email': [1, 3] });
    expect(found['User.name']).toEqual([1, 3]);
    expect(Object.keys(found)).not.toContain('User.givenName');
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

  beforeAll(async () => {
    await stopFollowing(service);
    all = new ScimClient(
      service,
      await service.serviceAccount('read', 'directory', 'confidential'),
    );
    some = new ScimClient(service, await service.serviceAccount('read', 'directory'));
  });

  const idOf = async (name: string) => {
    const { Resources } = await all.list('/Groups', { filter: `displayName eq "${name}"` });
    return Resources[0]?.id ?? (await all.findUser(name))?.id ?? '';
  };

  it('is in no count, page, filter and order', async () => {
    for (const parameters of [
      { sortBy: 'name.familyName' },
      { count: 1 },
      { count: 0 },
      { filter: 'not (userName eq "ben")' },
      { filter: 'emails.value eq "h@example.org"' },
      { filter: `groups.value eq "${await idOf('Club')}"` },
      { filter: `id eq "${await idOf('hidden')}"` },
    ]) {
      const [whole, visible] = [await all.list('/Users', parameters), await some.list('/Users', parameters)];
      expect(whole.totalResults - visible.totalResults).toBe(1);
      expect(namesOf(visible)).not.toContain('hidden');
    }
    expect(namesOf(await some.list('/Groups', { sortBy: 'displayName' }))).toEqual(['Club', 'Private']);
  });

  it('is not found by its id, as what does not exist', async () => {
    for (const [path, name] of [
      ['/Users', 'hidden'],
      ['/Groups', 'Secret'],
    ] as const) {
      const id = await idOf(name);
      expect((await all.request(`${path}/${id}`)).status).toBe(200);
      const absent = '00000000-0000-4000-8000-000000000000';
      const [found, other] = [await some.request(`${path}/${id}`), await some.request(`${path}/${absent}`)];
      expect([found.status, JSON.stringify(found.body).replaceAll(id, absent)]).toEqual([
        404,
        JSON.stringify(other.body),
      ]);
    }
  });

  it('is in no members, groups and filters by them', async () => {
    const [club] = (await some.list('/Groups', { filter: 'displayName eq "Club"' })).Resources;
    expect(club?.['members']).toMatchObject([{ display: 'ada.martin' }, { display: 'ben' }]);
    expect(await some.get(`/Groups/${await idOf('Private')}`)).not.toHaveProperty('members');
    const ben = await some.findUser('ben');
    expect(ben?.['groups']).toMatchObject([{ display: 'Club' }]);
    for (const name of ['Private', 'Secret']) {
      const filter = `groups.value eq "${await idOf(name)}"`;
      expect((await all.list('/Users', { filter })).totalResults).toBe(1);
      expect((await some.list('/Users', { filter })).totalResults).toBe(0);
    }
    const filter = `members.value eq "${ben?.id}"`;
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
    const answers = [];
    for (let time = 0; time < 6; time++) answers.push(await client.request('/Groups?count=1'));
    const [last] = answers.slice(-1);
    if (last === undefined) throw new Error('There is no answer');
    expect(scimErrorOf(last)[0]).toBe(429);
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
  });
});
