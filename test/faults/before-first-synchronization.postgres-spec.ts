import { GraphQLSchemaHost } from '@nestjs/graphql';
import { importJWK, SignJWT } from 'jose';
import { Client } from 'pg';
import { nodeIdOf } from '../../src/common/identity.js';
import { EmbeddedKeys } from '../../src/database/embedded/embedded-keys.js';
import { createKeys, type ProviderKeys } from '../../src/identity-provider/keys.js';
import { signUrl } from '../../src/media/signing/signed-url.js';
import { SIGNING_KEYS, type SigningKeys } from '../../src/media/signing/signing-keys.js';
import { buildLdif } from '../support/builders/directory.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { TestService } from '../support/servers/service.js';

const PEOPLE = buildLdif(
  [{ id: 'anna', name: 'Anna' }, { id: 'ada.martin' }],
  [{ id: 'club', owners: ['ada.martin'] }],
);

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
  const { jwks } = await app.get(EmbeddedKeys).findOrCreate<ProviderKeys>('identity-provider', createKeys);
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

  const readiness = async () => {
    const response = await fetch(`${service.url}/_readiness`);
    const { details } = (await response.json()) as Readiness;
    return { code: response.status, retryAfter: response.headers.get('retry-after'), ...details['mirror'] };
  };

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

  it('does not wait for the tables that a first revision fills', async () => {
    const writer = new Client({ connectionString: service.config.database.url });
    await writer.connect();
    try {
      await writer.query('begin');
      await writer.query(
        'lock table entries, names, users, groups, "references", nestings, effective_memberships',
      );
      const responses = await Promise.all(
        Object.values(READING).map((query) => service.query(query, { authorization: person })),
      );
      const codes = responses.flatMap(({ errors }) => errors.map(({ extensions }) => extensions.code));
      expect(new Set(codes)).toEqual(new Set(['SERVICE_UNAVAILABLE']));
    } finally {
      await writer.end();
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

  it('serves the part of an operation that does not read the directory', async () => {
    const { data, errors } = await service.query(
      '{ buildInfo { version } user(user: {id: "anna"}) { id } }',
      { authorization },
    );
    expect(data).toEqual({ buildInfo: { version: expect.any(String) as string }, user: null });
    expect(errors).toMatchObject([{ path: ['user'], extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
  });

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

  it('is not ready, and gives everyone the reason without names of the directory', async () => {
    await eventually(async () => (await readiness()).state, 'FAILING');
    expect(await readiness()).toMatchObject({
      code: 503,
      retryAfter: '1',
      status: 'down',
      reason: 'The directory cannot be read at the moment',
    });
    expect((await fetch(`${service.url}/_health`)).status).toBe(200);
  });

  it('returns the details to tokens with the scope directory only', async () => {
    const sendRequest = async (token?: string) => {
      const { data } = await service.query<{ directoryStatus: { blockedReason: string } }>(
        '{ directoryStatus { blockedReason } }',
        token === undefined ? {} : { authorization: token },
      );
      return data?.directoryStatus.blockedReason;
    };
    const neutral = 'The directory cannot be read at the moment';
    expect(await sendRequest()).toBe(neutral);
    expect(await sendRequest(await service.serviceAccount('read', 'profile', 'write'))).toBe(neutral);
    expect(await sendRequest(authorization)).toContain('localhost');
    expect(await sendRequest()).toBe(neutral);
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

  it.each([
    ['is empty', 'version: 1\n'],
    ['has groups and no people', buildLdif([], [{ id: 'club' }, { id: 'team' }])],
  ])('%s at the first reading holds that until it is confirmed', async (_, ldif) => {
    service = await TestService.start({ ldif, confirmed: false });
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

  it('becomes available is ready then, and stays ready while synchronization fails', async () => {
    service = await TestService.start({ ldif: 'this is no LDIF' });
    const authorization = await service.serviceAccount('directory');
    expect(await readiness()).toEqual([503, 'down', 'FAILING']);
    expect(await count(authorization)).toEqual([503, null]);
    service.replaceDirectory(PEOPLE);
    await eventually(readiness, [200, 'up', 'IDLE']);
    expect(await count(authorization)).toEqual([200, 2]);
    service.replaceDirectory('this is no LDIF');
    await eventually(readiness, [200, 'up', 'FAILING']);
    expect(await count(authorization)).toEqual([200, 2]);
  });

  it('gets the user of a token later applies this to the token, each time', async () => {
    const other = buildLdif([{ id: 'anna', name: 'Anna' }, { id: 'ben' }, { id: 'cleo' }, { id: 'dora' }]);
    service = await TestService.start({ ldif: other });
    // The owner of the client is not in the directory yet.
    const authorization = await service.accessToken('profile read');
    const sendRequest = async () => {
      const { data } = await service.query<{
        currentToken: { userId: string | null };
        profile: { name: string } | null;
      }>('{ currentToken { userId } profile { name } }', { authorization });
      return [data?.currentToken.userId, data?.profile?.name ?? null];
    };
    const become = async (id: string | null, name: string, wanted: unknown) => {
      const added = id === null ? '' : buildLdif([{ id, name }]);
      service.replaceDirectory(`${other}\n${added.replace(/^version: 1\n/, '')}`);
      await eventually(sendRequest, wanted);
    };
    expect(await sendRequest()).toEqual([null, null]);
    await become('ada.martin', 'Ada', ['ada.martin', 'Ada']);
    await become('ada.martin', 'Ada Martin', ['ada.martin', 'Ada Martin']);
    await become('Ada.Martin', 'Ada Martin', ['Ada.Martin', 'Ada Martin']);
    await become('ada.lovelace', 'Ada Lovelace', [null, null]);
    await become(null, '', [null, null]);
  });
});
