import SCIMMY from 'scimmy';
import { modelSetting } from '../support/builders/model-file.js';
import { SCIM_GROUPS, SCIM_MODEL, SCIM_PEOPLE, scimLdif } from '../support/builders/scim-directory.js';
import * as scim from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const { ENTERPRISE_URN, FIELDS_URN, GROUP_FIELDS_URN, GROUP_URN, LIST_URN, USER_URN } = scim;
const service = TestService.forSuite(() => ({ ldif: scimLdif(), environment: modelSetting(SCIM_MODEL) }));
let client: scim.ScimClient;
let ids: Record<string, string>;

beforeAll(async () => {
  await stopFollowing(service);
  client = new scim.ScimClient(service, await service.serviceAccount('read', 'directory'));
  ids = await client.readIds();
});

const userOf = (id: string) => client.get(`/Users/${ids[id]}`);
const groupOf = (id: string) => client.get(`/Groups/${ids[id]}`);
const locationOf = (type: string, id: string) => `${service.config.baseUrl}/scim/v2/${type}/${ids[id]}`;

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
    ['Schemas', [USER_URN, GROUP_URN, ENTERPRISE_URN, FIELDS_URN, GROUP_FIELDS_URN]],
  ])('lists %s, and has each by its id', async (path, expected) => {
    const { Resources } = await client.list(`/${path}`);
    expect(Resources.map(({ id }) => id)).toEqual(expect.arrayContaining(expected));
    for (const each of Resources) expect(await client.get(`/${path}/${each.id}`)).toEqual(each);
    expect(scim.scimErrorOf(await client.request(`/${path}/absent`))[0]).toBe(404);
  });

  it.each(['User', 'Group'] as const)('describes %s as RFC 7643 does', async (name) => {
    const { attributes } = (await client.get(`/Schemas/${name === 'User' ? USER_URN : GROUP_URN}`)) as never;
    const standard = JSON.parse(JSON.stringify(SCIMMY.Schemas[name].definition.describe())) as Described;
    const common = ['id', 'externalId', 'meta', 'schemas'];
    const own = (attributes as Attribute[]).filter((each) => !common.includes(each.name));
    expectDescribed(own, standard.attributes);
  });

  it('describes every attribute that a resource has', async () => {
    const schemas = (await client.list('/Schemas')).Resources as unknown as (Described & { id: string })[];
    const attributesOf = (urn: string) => schemas.find(({ id }) => id === urn)?.attributes;
    const described = ({ schemas: _, id: _id, meta: _meta, ...resource }: scim.Json, of: string) => {
      for (const [name, value] of Object.entries(resource)) {
        const extension = attributesOf(name);
        if (extension === undefined) expectValues({ [name]: value }, attributesOf(of));
        else expectValues(value, extension);
      }
    };
    for (const { id } of SCIM_PEOPLE) described(await userOf(id), USER_URN);
    for (const { id } of SCIM_GROUPS) described(await groupOf(id), GROUP_URN);
  });
});

describe('a resource', () => {
  it('has the properties of the user', async () => {
    const { photos, schemas, ...user } = await userOf('anna');
    expect([...(schemas as string[])].sort()).toEqual([FIELDS_URN, USER_URN, ENTERPRISE_URN]);
    expect(user).toEqual({
      ...{ id: ids['anna'], userName: 'anna', displayName: 'Anna Åberg', active: true },
      name: { formatted: 'Anna Åberg', givenName: 'Anna', familyName: 'Åberg' },
      emails: [{ value: 'anna@example.org', type: 'work', primary: true }],
      groups: [{ value: ids['club'], $ref: locationOf('Groups', 'club'), display: 'Club', type: 'direct' }],
      [ENTERPRISE_URN]: {
        ...{ employeeNumber: '7', department: 'Sales' },
        manager: { value: ids['ben'], $ref: locationOf('Users', 'ben'), displayName: 'Ben Bach' },
      },
      [FIELDS_URN]: { level: 3, startsAt: '2024-02-29T08:09:10.000Z', tags: ['a', 'b'] },
      meta: {
        ...{
          resourceType: 'User',
          location: locationOf('Users', 'anna'),
          created: '2020-01-01T00:00:00.000Z',
        },
        lastModified: expect.stringMatching(/^\d{4}-/) as string,
        version: expect.stringMatching(/^W\/".+"$/) as string,
      },
    });
    const [photo] = photos as { value: string; type: string }[];
    expect([photo?.type, (await fetch(photo?.value ?? '')).status]).toEqual(['photo', 200]);
  });

  it('has groups through nested groups, as indirect, and nothing without a value', async () => {
    const { groups, active, emails, ...cleo } = await userOf('cleo');
    const types = (groups as scim.Json[]).map(({ value, type }) => [value, type]);
    expect(types).toEqual([
      [ids['club'], 'indirect'],
      [ids['team'], 'direct'],
    ]);
    expect([active, emails, ENTERPRISE_URN in cleo]).toEqual([false, undefined, false]);
  });

  it('has all members of the group, also those of groups in it', async () => {
    expect(await groupOf('club')).toMatchObject({
      ...{ schemas: [GROUP_URN, GROUP_FIELDS_URN], displayName: 'Club', [GROUP_FIELDS_URN]: { id: 'club' } },
      members: ['anna', 'ben', 'cleo'].map((id) => ({
        ...{ value: ids[id], $ref: locationOf('Users', id), type: 'User' },
        display: SCIM_PEOPLE.find((each) => each.id === id)?.name,
      })),
      meta: { resourceType: 'Group', location: locationOf('Groups', 'club') },
    });
    expect((await groupOf('team'))[GROUP_FIELDS_URN]).toEqual({ id: 'team', room: '12' });
  });

  it.each(['User', 'Group'] as const)('is a %s for the library of others', async (type) => {
    const { Resources } = await client.list(`/${type}s`);
    for (const each of Resources) expect(() => new SCIMMY.Schemas[type](each as never, 'in')).not.toThrow();
    const body = { schemas: [LIST_URN], totalResults: Resources.length, Resources };
    expect(new SCIMMY.Messages.ListResponse(body as never).Resources).toEqual(Resources);
  });

  it.each([
    ['attributes=userName', 'id schemas userName'],
    ['attributes=username,NAME.familyname', 'id name schemas userName'],
    [`attributes=${USER_URN}:displayName, absent`, 'displayName id schemas'],
    [`attributes=${ENTERPRISE_URN}:manager.value`, `id schemas ${ENTERPRISE_URN}`],
    [
      `excludedAttributes=groups,meta,photos,id,schemas,name,${ENTERPRISE_URN},${FIELDS_URN}`,
      'active displayName emails id schemas userName',
    ],
    [
      `excludedAttributes=name,emails.value,groups,photos,meta,${ENTERPRISE_URN}:manager,${FIELDS_URN}:tags`,
      `active displayName emails id schemas ${FIELDS_URN} ${ENTERPRISE_URN} userName`,
    ],
  ])('has what the client chose: %s', async (parameters, names) => {
    const chosen = Object.fromEntries(new URLSearchParams(parameters));
    const user = await client.get(`/Users/${ids['anna']}`, chosen);
    expect(Object.keys(user).sort()).toEqual(names.split(' ').sort());
    if (names.includes('name ')) expect(user['name']).toEqual({ familyName: 'Åberg' });
    const { Resources } = await client.list('/Users', { ...chosen, filter: 'userName eq "anna"' });
    expect(Resources).toEqual([user]);
  });

  it('is not sent again to a client that has its version', async () => {
    const path = `/Users/${ids['anna']}`;
    const { headers, body } = await client.request(path);
    const { version } = body['meta'] as { version: string };
    expect(headers.etag).toBe(version);
    const statusOf = async (known: string) =>
      (await client.request(path, {}, { headers: { 'if-none-match': known } })).status;
    for (const known of [version, `"x", ${version}`, '*'])
      expect([known, await statusOf(known)]).toEqual([known, 304]);
    expect(await statusOf('W/"x"')).toBe(200);
  });

  it('has another version after a change, of itself or of its members', async () => {
    const read = async () => [await userOf('ben'), await userOf('dan'), await groupOf('team')];
    const versions = async () => (await read()).map(({ meta }) => (meta as scim.Json)['version']);
    const before = await versions();
    const people = SCIM_PEOPLE.map((each) => (each.id === 'ben' ? { ...each, name: 'Ben Zeta' } : each));
    const groups = SCIM_GROUPS.map((each) => (each.id === 'team' ? { ...each, members: ['ben'] } : each));
    service.replaceDirectory(scimLdif(people, groups));
    await service.synchronize();
    const after = await versions();
    expect(after.map((version, index) => version === before[index])).toEqual([false, true, false]);
  });
});

interface Attribute {
  readonly name: string;
  readonly type: string;
  readonly multiValued: boolean;
  readonly caseExact?: boolean;
  readonly subAttributes?: readonly Attribute[];
}

interface Described {
  readonly attributes: readonly Attribute[];
}

/** Names, types and case rules are those of the standard, as far as there are attributes. */
function expectDescribed(found: readonly Attribute[], standard: readonly Attribute[]): void {
  for (const { name, type, multiValued, caseExact = false, subAttributes = [] } of found) {
    const other = standard.find((each) => each.name === name);
    // Ids and references are case-exact, also where the standard does not say so.
    const isExact = ['value', '$ref'].includes(name) ? caseExact : (other?.caseExact ?? false);
    expect([name, type, multiValued, caseExact]).toEqual([name, other?.type, other?.multiValued, isExact]);
    expectDescribed(subAttributes, other?.subAttributes ?? []);
  }
}

function expectValues(value: unknown, attributes: readonly Attribute[] = []): void {
  for (const [name, each] of Object.entries(value as scim.Json)) {
    const attribute = attributes.find((one) => one.name === name);
    expect([name, attribute?.multiValued]).toEqual([name, Array.isArray(each)]);
    if (attribute?.type !== 'complex') continue;
    for (const single of [each].flat()) expectValues(single, attribute.subAttributes);
  }
}
