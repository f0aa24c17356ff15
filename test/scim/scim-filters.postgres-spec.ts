import { filter as evaluate, parse } from 'scim2-parse-filter';
import { modelSetting } from '../support/builders/model-file.js';
import { SCIM_MODEL, scimLdif } from '../support/builders/scim-directory.js';
import * as scim from '../support/clients/scim.js';
import { stopFollowing } from '../support/clients/mirror.js';
import { TestService } from '../support/servers/service.js';

const { ENTERPRISE_URN, FIELDS_URN, GROUP_FIELDS_URN, namesOf, scimErrorOf, USER_URN } = scim;
const service = TestService.forSuite(() => ({ ldif: scimLdif(), environment: modelSetting(SCIM_MODEL) }));
let client: scim.ScimClient;
let ids: Record<string, string>;
let users: readonly scim.ScimResource[];
let groups: readonly scim.ScimResource[];

beforeAll(async () => {
  await stopFollowing(service);
  client = new scim.ScimClient(service, await service.serviceAccount('read', 'directory'));
  ids = await client.readIds();
  ({ Resources: users } = await client.list('/Users'));
  ({ Resources: groups } = await client.list('/Groups'));
});

/** «{club}» stands for the id of a resource. */
function withIds(filter: string): string {
  return filter.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name);
}

async function find(path: string, filter: string) {
  const page = await client.list(path, { filter: withIds(filter) });
  expect(page.totalResults).toBe(page.Resources.length);
  return namesOf(page).sort();
}

/** What the library of others finds, for which texts are equal only in the same case. */
function findInMemory(resources: readonly scim.ScimResource[], filter: string) {
  const folded = JSON.parse(JSON.stringify(resources).toLowerCase()) as Record<string, unknown>[];
  const holds = evaluate(parse(withIds(filter).toLowerCase()));
  return namesOf({ Resources: resources.filter((_, index) => holds(folded[index] ?? {})) }).sort();
}

describe('a filter of users', () => {
  it.each([
    ['userName eq "anna"', ['anna']],
    ['USERNAME Eq "ANNA"', ['anna']],
    ['id eq "{ben}"', ['ben']],
    ['userName ne "anna"', ['ben', 'cleo', 'dan']],
    ['userName co "N"', ['anna', 'ben', 'dan']],
    ['userName sw "A"', ['anna']],
    ['userName pr', ['anna', 'ben', 'cleo', 'dan']],
    ['userName lt "BEN"', ['anna']],
    ['userName le "Ben"', ['anna', 'ben']],
    ['displayName eq "ben bach"', ['ben']],
    ['displayName co "%_"', ['cleo']],
    ['not (name.givenName pr)', ['cleo']],
    ['emails.value eq "BEN.bach@example.org"', ['ben']],
    ['emails[value co "other"]', ['dan']],
    ['emails[type eq "work" and value ew "example.org"]', ['anna', 'ben']],
    ['emails[not (value co "example")]', ['dan']],
    ['emails pr', ['anna', 'ben', 'dan']],
    ['not (emails pr)', ['cleo']],
    ['active eq true', ['anna', 'ben', 'dan']],
    ['active eq false', ['cleo']],
    ['groups.value eq "{team}"', ['ben', 'cleo']],
    ['meta.created gt "2021-01-01T00:00:00.000Z"', ['cleo', 'dan']],
    ['meta.created lt "2021-01-01T00:00:00.000Z"', ['anna']],
    ['meta.lastModified gt "2024-01-01T00:00:00Z"', ['anna', 'ben', 'cleo', 'dan']],
    ['userName eq "anna" or userName eq "cleo" and active eq true', ['anna']],
    ['(userName eq "anna" or userName eq "cleo") and active eq false', ['cleo']],
    ['not (userName eq "anna" or userName eq "ben")', ['cleo', 'dan']],
    ['userName pr and (active eq false OR (name.familyName co "z" And emails pr))', ['cleo', 'dan']],
  ])('is evaluated as by the library of others: %s', async (filter, expected) => {
    expect(await find('/Users', filter)).toEqual(expected);
    expect(findInMemory(users, filter)).toEqual(expected);
  });

  // The library compares neither a list by its values, nor times, nor understands URNs and escapes.
  it.each([
    [`${USER_URN}:userName eq "anna"`, ['anna']],
    ['emails eq "dan@other.org"', ['dan']],
    ['displayName co "\\"C\\\\D\\""', ['cleo']],
    ['displayName co "\\u00e5BERG"', ['anna']],
    ['meta.created eq "2020-01-01T01:00:00+01:00"', ['anna']],
    [`${ENTERPRISE_URN}:employeeNumber eq "12"`, ['ben']],
    [`${ENTERPRISE_URN.toUpperCase()}:department eq "sales"`, ['anna']],
    [`${FIELDS_URN}:level eq 3`, ['anna']],
    [`${FIELDS_URN}:level gt 3`, ['ben']],
    [`${FIELDS_URN}:startsAt ge "2024-02-29T08:09:10Z"`, ['anna']],
    ['emails.value eq null', ['cleo']],
    ['name.givenName ne "anna"', ['ben', 'cleo', 'dan']],
    ['  userName   eq   "anna"  ', ['anna']],
  ])('finds what RFC 7644 says: %s', async (filter, expected) =>
    expect(await find('/Users', filter)).toEqual(expected),
  );

  it.each([
    ['nickName eq "x"', 'nickName'],
    ['name.middleName eq "x"', 'name.middleName'],
    ['emails[display eq "x"]', 'display'],
    ['photos.value pr', 'photos'],
    ['members.value eq "x"', 'members'],
    ['active gt true', 'active'],
    ['userName eq 5', 'userName'],
    ['meta.created gt "yesterday"', 'meta.created'],
    [`${FIELDS_URN}:level sw "3"`, 'level'],
    [`${FIELDS_URN}:tags eq "a"`, 'tags'],
    ['urn:absent:userName eq "x"', 'urn:absent:userName'],
    ['__proto__.polluted eq "x"', '__proto__'],
    ['userName', ''],
    ['userName xx "y"', ''],
    ['userName eq "x', ''],
  ])('is rejected with the attribute: %s', async (filter, attribute) => {
    const [status, type, detail] = scimErrorOf(await client.request('/Users', { filter }));
    expect([status, type]).toEqual([400, 'invalidFilter']);
    expect(detail.toLowerCase()).toContain(attribute.toLowerCase());
  });
});

describe('a filter of groups', () => {
  it.each([
    ['displayName eq "CLUB"', ['Club']],
    ['members.value eq "{anna}"', ['Club']],
    ['members.value eq "{ben}"', ['Club', 'Team']],
    ['members[value eq "{cleo}" or value eq "{anna}"]', ['Club', 'Team']],
    ['not (members.value eq "{anna}")', ['Team']],
  ])('is evaluated as by the library of others: %s', async (filter, expected) => {
    expect(await find('/Groups', filter)).toEqual(expected);
    expect(findInMemory(groups, filter)).toEqual(expected);
  });

  it('compares custom fields of groups, and knows no attribute of users', async () => {
    expect(await find('/Groups', `${GROUP_FIELDS_URN}:room eq "12"`)).toEqual(['Team']);
    const answer = await client.request('/Groups', { filter: 'emails.value eq "x"' });
    expect(scimErrorOf(answer)).toEqual([400, 'invalidFilter', expect.stringContaining('emails.value')]);
  });
});
