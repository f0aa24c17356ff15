import SCIMMY from 'scimmy';
import { modelSetting } from '../support/builders/model-file.js';
import { SCIM_GROUPS, SCIM_MODEL, SCIM_PEOPLE, scimLdif } from '../support/builders/scim-directory.js';
import {
  ENTERPRISE_URN,
  FIELDS_URN,
  GROUP_URN,
  type Json,
  LIST_URN,
  ScimClient,
  scimErrorOf,
  type ScimResource,
  USER_URN,
} from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const service = TestService.forSuite(() => ({ ldif: scimLdif(), environment: modelSetting(SCIM_MODEL) }));
let client: ScimClient;
let ids: Record<string, string>;

beforeAll(async () => {
  await stopFollowing(service);
  client = new ScimClient(service, await service.serviceAccount('read', 'directory'));
  const lists = [await client.list('/Users'), await client.list('/Groups')];
  ids = Object.fromEntries(
    lists.flatMap(({ Resources }) =>
      Resources.map(({ id, userName, displayName }) => [userName ?? displayName?.toLowerCase(), id]),
    ),
  ) as Record<string, string>;
});

async function readOne(path: string, id: string): Promise<ScimResource> {
  return (await client.get(`${path}/${ids[id]}`)) as ScimResource;
}

describe('the configuration', () => {
  it('says that resources can be read, filtered, sorted and paged, and not changed', async () => {
    expect(await client.get('/ServiceProviderConfig')).toMatchObject({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
      ...{ patch: { supported: false }, bulk: { supported: false }, changePassword: { supported: false } },
      ...{ filter: { supported: true }, sort: { supported: true }, etag: { supported: true } },
      authenticationSchemes: [{ type: 'oauthbearertoken' }, { type: 'httpbasic' }],
      pagination: { cursor: true, index: true },
    });
  });

  it.each([
    ['ResourceTypes', ['User', 'Group']],
    ['Schemas', [USER_URN, GROUP_URN, ENTERPRISE_URN, FIELDS_URN, FIELDS_URN.replace('User', 'Group')]],
  ])('lists %s, and has each by its id', async (path, expected) => {
    const { Resources, totalResults } = await client.list(`/${path}`);
    const found = Resources.map(({ id }) => id);
    expect(found).toEqual(expect.arrayContaining(expected));
    expect(totalResults).toBe(found.length);
    for (const each of Resources) expect(await client.get(`/${path}/${each.id}`)).toEqual(each);
    expect(scimErrorOf(await client.request(`/${path}/absent`))[0]).toBe(404);
  });

  it('cannot be filtered', async () => {
    for (const path of ['/ServiceProviderConfig', '/ResourceTypes', '/Schemas'])
      expect(scimErrorOf(await client.request(path, { filter: 'name eq "User"' }))).toMatchObject({ 0: 403 });
  });

  it.each(['User', 'Group'] as const)('describes %s as RFC 7643 does', async (name) => {
    const { attributes } = (await client.get(
      `/Schemas/${name === 'User' ? USER_URN : GROUP_URN}`,
    )) as unknown as Described;
    const standard = JSON.parse(JSON.stringify(SCIMMY.Schemas[name].definition.describe())) as Described;
    const common = ['id', 'externalId', 'meta', 'schemas'];
    expectDescribed(
      attributes.filter((each) => !common.includes(each.name)),
      standard.attributes,
    );
  });

  it('describes every attribute that a resource has, with its type', async () => {
    const { Resources: schemas } = await client.list('/Schemas');
    const byId = new Map(schemas.map((each) => [each.id, (each as unknown as Described).attributes]));
    const described = (resource: Json, of: string) => {
      for (const [name, value] of Object.entries(resource)) {
        if (['schemas', 'id', 'meta'].includes(name)) continue;
        const extension = byId.get(name);
        if (extension !== undefined) expectValues(value as Json, extension);
        else expectValues({ [name]: value }, byId.get(of) ?? []);
      }
    };
    for (const { id } of SCIM_PEOPLE) described(await readOne('/Users', id), USER_URN);
    for (const { id } of SCIM_GROUPS) described(await readOne('/Groups', id), GROUP_URN);
  });
});

describe('a resource', () => {
  it('has the properties of the user', async () => {
    const { id, meta, photos, ...user } = await readOne('/Users', 'anna');
    expect(user).toEqual({
      schemas: [USER_URN, ENTERPRISE_URN, FIELDS_URN],
      userName: 'anna',
      name: { formatted: 'Anna Åberg', givenName: 'Anna', familyName: 'Åberg' },
      displayName: 'Anna Åberg',
      emails: [{ value: 'anna@example.org', type: 'work', primary: true }],
      active: true,
      groups: [{ value: ids['club'], $ref: locationOf('Groups', 'club'), display: 'Club', type: 'direct' }],
      [ENTERPRISE_URN]: {
        employeeNumber: '7',
        department: 'Sales',
        manager: { value: ids['ben'], $ref: locationOf('Users', 'ben'), displayName: 'Ben Bach' },
      },
      [FIELDS_URN]: { level: 3, startsAt: '2024-02-29T08:09:10.000Z', tags: ['a', 'b'] },
    });
    expect(meta).toEqual({
      resourceType: 'User',
      created: '2020-01-01T00:00:00.000Z',
      lastModified: expect.stringMatching(/^\d{4}-/) as string,
      location: locationOf('Users', 'anna'),
      version: expect.stringMatching(/^W\/".+"$/) as string,
    });
    const [photo] = photos as { value: string; type: string }[];
    expect(photo).toMatchObject({ type: 'photo' });
    expect((await fetch(photo?.value ?? '')).status).toBe(200);
    expect(id).toBe(ids['anna']);
  });

  it('has groups through nested groups, as indirect', async () => {
    const { groups, active, emails, ...cleo } = await readOne('/Users', 'cleo');
    expect(groups).toEqual([
      expect.objectContaining({ value: ids['club'], type: 'indirect' }),
      expect.objectContaining({ value: ids['team'], type: 'direct' }),
    ]);
    expect([active, emails, ENTERPRISE_URN in cleo]).toEqual([false, undefined, false]);
  });

  it('has all members of the group, also those of groups in it', async () => {
    const fields = FIELDS_URN.replace('User', 'Group');
    expect(await readOne('/Groups', 'club')).toMatchObject({
      schemas: [GROUP_URN, fields],
      displayName: 'Club',
      members: ['anna', 'ben', 'cleo'].map((id) => ({
        ...{ value: ids[id], $ref: locationOf('Users', id), type: 'User' },
        display: SCIM_PEOPLE.find((each) => each.id === id)?.name,
      })),
      [fields]: { id: 'club' },
      meta: { resourceType: 'Group', location: locationOf('Groups', 'club') },
    });
    expect((await readOne('/Groups', 'team'))[fields]).toEqual({ id: 'team', room: '12' });
  });

  it.each(['User', 'Group'] as const)('is a %s for the library of others', async (type) => {
    const { Resources } = await client.list(`/${type}s`);
    for (const each of Resources) expect(() => new SCIMMY.Schemas[type](each as never, 'in')).not.toThrow();
    const body = { schemas: [LIST_URN], totalResults: Resources.length, Resources };
    expect(new SCIMMY.Messages.ListResponse(body as never).Resources).toEqual(Resources);
  });

  it.each([
    ['attributes=userName', ['id', 'schemas', 'userName']],
    ['attributes=username,NAME.familyname', ['id', 'name', 'schemas', 'userName']],
    [`attributes=${USER_URN}:displayName, absent`, ['displayName', 'id', 'schemas']],
    [`attributes=${ENTERPRISE_URN}:manager.value`, [ENTERPRISE_URN, 'id', 'schemas']],
    ['attributes=id,absent', ['id', 'schemas']],
    [
      `excludedAttributes=groups,meta,photos,id,schemas,name,${ENTERPRISE_URN},${FIELDS_URN}`,
      ['active', 'displayName', 'emails', 'id', 'schemas', 'userName'],
    ],
    [
      `excludedAttributes=name.givenName,emails.value,active,groups,photos,meta,${ENTERPRISE_URN}:manager,${FIELDS_URN}:tags`,
      ['displayName', 'emails', ENTERPRISE_URN, FIELDS_URN, 'id', 'name', 'schemas', 'userName'],
    ],
  ])('has what the client chose: %s', async (parameters, names) => {
    const chosen = Object.fromEntries(new URLSearchParams(parameters));
    const user = await client.get(`/Users/${ids['anna']}`, chosen);
    expect(Object.keys(user).sort()).toEqual([...names].sort());
    const { Resources } = await client.list('/Users', { ...chosen, filter: 'userName eq "anna"' });
    // A URL of a photo, and nothing else, depends on the time.
    expect(Resources).toEqual([user]);
  });

  it('has the chosen parts of a complex attribute', async () => {
    expect(await client.get(`/Users/${ids['anna']}`, { attributes: 'name.familyName' })).toMatchObject({
      name: { familyName: 'Åberg' },
    });
    const excluded = await client.get(`/Users/${ids['anna']}`, { excludedAttributes: 'name.familyName' });
    expect(excluded['name']).toEqual({ formatted: 'Anna Åberg', givenName: 'Anna' });
  });

  it('is not sent again to a client that has its version', async () => {
    const path = `/Users/${ids['anna']}`;
    const { headers, body } = await client.request(path);
    const { version } = body['meta'] as { version: string };
    expect(headers.etag).toBe(version);
    for (const [known, status] of [
      [version, 304],
      [`"x", ${version}`, 304],
      [version.replace('W/', ''), 304],
      ['*', 304],
      ['W/"x"', 200],
    ] as const)
      expect([
        known,
        (await client.request(path, {}, { headers: { 'if-none-match': known } })).status,
      ]).toEqual([known, status]);
  });

  it('has another version after a change, of itself or of its members', async () => {
    const versions = async () => {
      const read = [
        await readOne('/Users', 'ben'),
        await readOne('/Users', 'dan'),
        await readOne('/Groups', 'team'),
      ];
      return read.map(({ meta }) => (meta as Json)['version']);
    };
    const [ben, dan, team] = await versions();
    const people = SCIM_PEOPLE.map((each) => (each.id === 'ben' ? { ...each, name: 'Ben Zeta' } : each));
    const groups = SCIM_GROUPS.map((each) => (each.id === 'team' ? { ...each, members: ['ben'] } : each));
    service.replaceDirectory(scimLdif(people, groups));
    await service.synchronize();
    const after = await versions();
    expect(after).toEqual([
      expect.not.stringMatching(String(ben)),
      dan,
      expect.not.stringMatching(String(team)),
    ]);
  });
});

interface DescribedAttribute {
  readonly name: string;
  readonly type: string;
  readonly multiValued: boolean;
  readonly caseExact?: boolean;
  readonly subAttributes?: readonly DescribedAttribute[];
}

interface Described {
  readonly attributes: readonly DescribedAttribute[];
}

function locationOf(type: string, id: string): string {
  return `${service.config.baseUrl}/scim/v2/${type}/${ids[id]}`;
}

/** Names, types and case rules are those of the standard, as far as there are attributes. */
function expectDescribed(
  found: readonly DescribedAttribute[],
  standard: readonly DescribedAttribute[],
): void {
  for (const { name, type, multiValued, caseExact = false, subAttributes = [] } of found) {
    const other = standard.find((each) => each.name === name);
    const expected = { name, type: other?.type, multiValued: other?.multiValued };
    expect({ name, type, multiValued }).toEqual(expected);
    // Ids are case-exact, also where they are values.
    if (name !== 'value') expect([name, caseExact]).toEqual([name, other?.caseExact ?? false]);
    expectDescribed(subAttributes, other?.subAttributes ?? []);
  }
}

const TYPES: Record<string, string> = {
  ...{ string: 'string', reference: 'string', dateTime: 'string', binary: 'string' },
  ...{ boolean: 'boolean', integer: 'number', decimal: 'number', complex: 'object' },
};

function expectValues(value: Json, attributes: readonly DescribedAttribute[]): void {
  for (const [name, each] of Object.entries(value)) {
    const attribute = attributes.find((one) => one.name === name);
    expect([name, attribute?.multiValued]).toEqual([name, Array.isArray(each)]);
    for (const single of Array.isArray(each) ? (each as unknown[]) : [each]) {
      expect([name, typeof single]).toEqual([name, TYPES[attribute?.type ?? '']]);
      if (attribute?.type === 'complex') expectValues(single as Json, attribute.subAttributes ?? []);
    }
  }
}
