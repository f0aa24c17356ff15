import { GraphQLSchemaHost } from '@nestjs/graphql';
import { importJWK, SignJWT } from 'jose';
import { DataSource } from 'typeorm';
import { nodeIdOf } from '../../src/common/identity.js';
import type { DirectoryDataSource } from '../../src/database/connections/data-source.js';
import { createKeys, type ProviderKeys } from '../../src/identity-provider/provider.js';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';

const NODE_ID = nodeIdOf('User', '00000000-0000-4000-8000-000000000001');

/** Selections of all root fields, and whether they read the directory. */
const READING: Record<string, string> = {
  users: '{ users(first: 1) { totalCount } }',
  groups: '{ groups(first: 1) { nodes { id } } }',
  user: '{ user(user: {id: "anna"}) { id groups(first: 1) { totalCount } } }',
  group: '{ group(group: {id: "club"}) { id } }',
  node: `{ node(nodeId: "${NODE_ID}") { nodeId } }`,
  nodes: `{ nodes(nodeIds: ["${NODE_ID}"]) { nodeId } }`,
  profile: '{ profile { id } currentToken { userId } }',
  search: '{ search(query: "anna", first: 1) { nodes { __typename } } }',
  changes: '{ changes(first: 1) { nodes { kind } } }',
  isMember: '{ isMember(user: {id: "anna"}, group: {id: "club"}) }',
  createGroup: 'mutation { createGroup(input: {id: "new", name: "New"}) { clientMutationId } }',
  updateGroup: 'mutation { updateGroup(input: {group: {id: "club"}, name: "New"}) { clientMutationId } }',
  deleteGroup: 'mutation { deleteGroup(input: {group: {id: "club"}}) { clientMutationId } }',
  addGroupMember:
    'mutation { addGroupMember(input: {group: {id: "club"}, user: {id: "anna"}}) { clientMutationId } }',
  updateGroupMember:
    'mutation { updateGroupMember(input: {group: {id: "club"}, user: {id: "anna"}, role: ADMIN}) { clientMutationId } }',
  removeGroupMember:
    'mutation { removeGroupMember(input: {group: {id: "club"}, user: {id: "anna"}}) { clientMutationId } }',
  updateUser: 'mutation { updateUser(input: {user: {id: "anna"}, familyName: "New"}) { clientMutationId } }',
  updateProfile: 'mutation { updateProfile(input: {familyName: "New"}) { clientMutationId } }',
};
const ANSWERING: Record<string, string> = {
  buildInfo: '{ buildInfo { version } }',
  rateLimit: '{ rateLimit { cost } }',
  directoryStatus: '{ directoryStatus { state asOf } }',
  currentToken: '{ currentToken { kind scopes clientId } }',
  currentServiceAccount: '{ currentServiceAccount { id } }',
};

/** A token for a user as the embedded provider would issue it, while it cannot find the user. */
async function issueToken({ app, config }: TestService, sub: string): Promise<string> {
  const dataSource = app.get<unknown, DirectoryDataSource>(DataSource);
  const { jwks } = await dataSource.findOrCreateKey<ProviderKeys>('identity-provider', createKeys);
  const [key] = jwks.keys;
  if (key === undefined) throw new Error('The provider has no key');
  const token = await new SignJWT({ client_id: 'app', scope: 'read profile write directory' })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', ...(key.kid === undefined ? {} : { kid: key.kid }) })
    .setIssuer(config.baseUrl)
    .setAudience(config.auth.audiences[0])
    .setSubject(sub)
    .setJti(sub)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(await importJWK(key, 'RS256'));
  return `Bearer ${token}`;
}

interface Readiness {
  status: string;
  details: Record<string, { status: string; state?: string; reason?: string }>;
}

describe('a service that has not read its directory yet', () => {
  let service: TestService;
  let authorization: string;
  let person: string;

  beforeAll(async () => {
    // No server listens there.
    const environment = { DIRECTORY_URL: `ldap://localhost:${await findFreePort()}` };
    service = await TestService.start({ environment, compared: false });
    authorization = await service.serviceAccount('read', 'profile', 'write', 'directory');
    person = await issueToken(service, 'anna');
  });

  afterAll(() => service.stop());

  it('is tested with every root field of the schema', () => {
    const { schema } = service.app.get(GraphQLSchemaHost);
    const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
    expect([...Object.keys(READING), ...Object.keys(ANSWERING)].sort()).toEqual(fields.sort());
  });

  it.each(Object.entries(READING))('does not serve an empty directory: %s', async (field, query) => {
    // Twice, because the second response uses another path.
    for (let time = 1; time <= 2; time++) {
      const { status, headers, data, errors } = await service.query(query, { authorization: person });
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      expect(new Set(errors.map(({ extensions }) => extensions.code))).toEqual(
        new Set(['SERVICE_UNAVAILABLE']),
      );
      expect(data?.[field] ?? null).toBeNull();
    }
  });

  it.each(Object.entries(ANSWERING))(
    'serves data that is not from the directory: %s',
    async (field, query) => {
      const { status, data, errors } = await service.query(query, { authorization });
      expect([status, errors]).toEqual([200, []]);
      expect(data?.[field]).not.toBeNull();
    },
  );

  it.each(['photo', 'picture'] as const)('does not report a missing %s', async (kind) => {
    const { signing: key } = service.app.get<SigningKeys>(SIGNING_KEYS);
    const signed = signUrl({ baseUrl: '', kind, id: 'anna', size: null, now: new Date(), key });
    const response = await fetch(`${service.url}${signed}`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('issues no token for a user', async () => {
    const response = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('demo-basic:demo-basic-secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'profile' }),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).not.toHaveProperty('access_token');
  });
});

describe('a service whose directory', () => {
  let service: TestService;

  afterEach(() => service.stop());

  const readiness = async () => {
    const response = await fetch(`${service.url}/_readiness`);
    const { details } = (await response.json()) as Readiness;
    return [response.status, details['mirror']?.status, details['mirror']?.state];
  };
  const count = async (authorization: string) => {
    const { status, data } = await service.query<{ users: { totalCount: number } | null }>(
      '{ users(first: 1) { totalCount } }',
      { authorization },
    );
    return [status, data?.users?.totalCount ?? null];
  };

  it('has no people at the first reading holds that until it is confirmed', async () => {
    service = await TestService.start({ ldif: buildLdif([], [{ id: 'club' }]), confirmed: false });
    const authorization = await service.serviceAccount('directory');
    expect(await readiness()).toEqual([503, 'down', 'BLOCKED']);
    expect(await count(authorization)).toEqual([503, null]);
    const { data } = await service.query<{ directoryStatus: object }>(
      '{ directoryStatus { state asOf blockedReason } }',
    );
    expect(data?.directoryStatus).toEqual({
      state: 'BLOCKED',
      asOf: null,
      blockedReason:
        'The first run found no users in the directory, and is blocked until an operator confirms it',
    });
    const planned = await service.synchronize({ dryRun: true });
    if (planned.kind !== 'planned') throw new Error(planned.kind);
    expect(planned.reason).toBe('The first run found no users in the directory');
    expect((await service.synchronize({ confirm: planned.hash })).kind).toBe('applied');
    await eventually(readiness, [200, 'up', 'IDLE']);
    expect(await count(authorization)).toEqual([200, 0]);
    expect((await service.synchronize()).kind).toBe('unchanged');
  });
});
